package runtime

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"sailor.dev/tests/cluster/config"
)

func TestALogHasOneLineForEachAndSaysWhereALongOneWasCut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	log, err := openLog(file)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 16*1024)
	if _, err := log.stream("stdout").Write([]byte("one\ntwo\n" + long + "y\nend")); err != nil {
		t.Fatal(err)
	}
	log.close()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `^\S+ stdout F one\n\S+ stdout F two\n\S+ stdout P x+\n\S+ stdout F y\n\S+ stdout P end\n$`
	if !regexp.MustCompile(want).Match(text) {
		t.Errorf("the log is %.200q", text)
	}
}

func TestALogGoesOnInANewFileAfterItWasRenamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	log, err := openLog(file)
	if err != nil {
		t.Fatal(err)
	}
	log.write("stderr", []byte("old\n"))
	if err := errors.Join(os.Rename(file, file+".1"), log.reopen()); err != nil {
		t.Fatal(err)
	}
	log.write("stderr", []byte("new\n"))
	log.close()
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "old") || !strings.Contains(string(text), "new") {
		t.Errorf("the new file: %q (%v)", text, err)
	}
}

func TestAProgramIsLookedForInThePodsPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/tool", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/data", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere", "PATH=/nowhere:" + dir} // a program sees the last of two values
	if got, err := lookPath("tool", env); got != dir+"/tool" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := lookPath("data", env); err == nil {
		t.Errorf("a file that is not a program was found: %s", got)
	}
	if got, err := lookPath("./any", env); got != "./any" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestTheExitCodeOfASignalledProcessIs128AndTheSignal(t *testing.T) {
	for script, want := range map[string]int32{"exit 0": 0, "exit 3": 3, "kill -KILL $$": 137} {
		if got := exitCode(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
	if got := exitCode(errors.New("not started")); got != 128 {
		t.Errorf("not started: %d", got)
	}
}

func TestAContainersUserIsTheOneOfThePodOrOfTheImage(t *testing.T) {
	asks := func(user int64, group *runtimeapi.Int64Value, groups ...int64) *runtimeapi.LinuxContainerSecurityContext {
		return &runtimeapi.LinuxContainerSecurityContext{RunAsUser: &runtimeapi.Int64Value{Value: user}, RunAsGroup: group, SupplementalGroups: groups}
	}
	group := &runtimeapi.Int64Value{Value: 2000}
	for _, c := range []struct {
		what, root string
		security   *runtimeapi.LinuxContainerSecurityContext
		want       string
	}{
		{"nothing", "", nil, "0:0"},
		{"a user with groups", "", asks(1000, group, 3000, 4000), "1000:2000:3000:4000"},
		{"the user of an image of this machine's programs", "", asks(imageUser, nil, 3000), "0:0:3000"},
		{"the user of an image with a file system", "/image", asks(imageUser, nil, 3000), "65532:65532:3000"},
		{"that user with another group", "/image", asks(imageUser, group), "65532:2000"},
		{"root in an image with a file system", "/image", asks(0, nil), "0:0"},
	} {
		container := &container{image: config.Image{Root: c.root}, config: &runtimeapi.ContainerConfig{
			Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: c.security}}}
		if got := userOf(container).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}
