package testcluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sailor.dev/tests/cluster/config"
)

// Await calls the function until it returns true. An error of the function is not final. If ctx ends first, the last error
// is reported.
func Await(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := holds(ctx)
		if yes && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("waiting for %s: %w (last: %v)", what, ctx.Err(), err)
			}
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// Eventually is Await for a test, which it ends after the time.
func Eventually(t testing.TB, within time.Duration, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	if err := Await(ctx, what, holds); err != nil {
		t.Fatal(err)
	}
	SayIfLong(t, began, what)
}

// SayIfLong logs a wait that began then and is over, if it took long enough to ask why.
func SayIfLong(t testing.TB, began time.Time, what string) {
	t.Helper()
	if waited := time.Since(began); waited > 5*time.Second {
		t.Logf("waited %s for %s", waited.Round(100*time.Millisecond), what)
	}
}

// AwaitDefinitions returns when the API server serves the custom resources, a moment after they were applied.
func AwaitDefinitions(ctx context.Context, c *Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return Await(ctx, "the definitions to be served", func(ctx context.Context) (bool, error) {
		_, err := c.Kubectl(ctx, "get", "trainingjobs,gpupools,modelprofiles,jobrecords", "-A")
		return err == nil, err
	})
}

// MainWithoutNodes is Main for tests of the API server, in which no pod runs.
func MainWithoutNodes(m *testing.M, use func(c *Cluster, root string)) (status int) {
	root, err := RepositoryRoot()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return Main(m, Options{Config: config.Config{}}, func(c *Cluster) { use(c, root) })
}

// Main is the body of a TestMain whose tests share one cluster: it starts the cluster, hands it to use, runs the tests
// and stops it. It returns the exit status.
func Main(m *testing.M, options Options, use func(*Cluster)) (status int) {
	c, err := Start(context.Background(), options)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Println(err)
			status = 1
		}
	}()
	use(c)
	return m.Run()
}
