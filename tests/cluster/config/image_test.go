package config

import "testing"

func TestAnImagePatternsStarsStandForAnyText(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*sailor-trainer*", "ghcr.io/someone/sailor-trainer:v1", true},
		{"*sailor-trainer*", "sailor-trainer", true},
		{"*sailor-trainer*", "sailor-operator", false},
		{"busybox", "busybox", true},
		{"busybox", "busybox:1.36", false},
		{"busybox:*", "busybox:", true},
		{"*/a:*", "registry/a:1", true},
		{"a*b*c", "a-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"ab*ba", "aba", false}, // the parts must not overlap
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestTheFirstImageThatMatchesIsTaken(t *testing.T) {
	images := []Image{{Name: "a*", Path: []string{"first"}}, {Name: "*", Path: []string{"second"}}}
	if got := FindImage(images, "abc"); got.Path[0] != "first" {
		t.Errorf("got %v", got)
	}
	if got := FindImage(images[:1], "xyz"); got.Name != "" {
		t.Errorf("an image that nothing matches is %v", got)
	}
}
