package gpus

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func give(t *testing.T, a *Allocator, pod types.UID, want int) []string {
	t.Helper()
	gpus, err := a.Give(Owner{pod, "main"}, want)
	if err != nil {
		t.Fatal(err)
	}
	return gpus
}

func TestNoGPUIsGivenTwice(t *testing.T) {
	a := NewAllocator(4)
	all := slices.Concat(give(t, a, "x", 1), give(t, a, "y", 2), give(t, a, "z", 1))
	slices.Sort(all)
	if !slices.Equal(all, []string{"0", "1", "2", "3"}) {
		t.Errorf("given: %v", all)
	}
	if _, err := a.Give(Owner{"late", "main"}, 1); err == nil || err.Error() != "1 GPUs wanted, 0 free" {
		t.Errorf("a fifth: %v", err)
	}
}

func TestARestartedContainerKeepsItsGPUs(t *testing.T) {
	a := NewAllocator(2)
	give(t, a, "other", 1)
	if first, second := give(t, a, "mine", 1), give(t, a, "mine", 1); !slices.Equal(first, second) {
		t.Errorf("first %v, then %v", first, second)
	}
}

func TestTheGPUsOfPodsThatHaveEndedAreGivenAgain(t *testing.T) {
	a := NewAllocator(2)
	kept := give(t, a, "kept", 1)
	ended := give(t, a, "ended", 1)
	a.KeepOnly(map[types.UID]bool{"kept": true})
	if again := give(t, a, "next", 1); !slices.Equal(again, ended) || slices.Equal(again, kept) {
		t.Errorf("kept %v, ended %v, next %v", kept, ended, again)
	}
}
