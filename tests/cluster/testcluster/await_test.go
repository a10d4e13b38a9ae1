package testcluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAwaitForgivesErrorsUntilTheAnswerIsYes(t *testing.T) {
	asked := 0
	err := Await(t.Context(), "a yes", func(context.Context) (bool, error) {
		asked++
		if asked < 3 {
			return false, errors.New("not now")
		}
		return true, nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestAwaitTellsWhatItWaitedForAndTheLastError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := Await(ctx, "godot", func(context.Context) (bool, error) { return false, errors.New("he is late") })
	if err == nil || !strings.Contains(err.Error(), "godot") || !strings.Contains(err.Error(), "he is late") {
		t.Errorf("got %v", err)
	}
}
