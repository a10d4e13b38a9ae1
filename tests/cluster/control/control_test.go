package control

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// recorder has one node and records its commands.
type recorder struct{ commands []string }

func (r *recorder) tell(words ...string) error {
	r.commands = append(r.commands, words...)
	if words[len(words)-1] == "broken" {
		return errors.New("node broken does not work")
	}
	return nil
}

func (r *recorder) Ready(context.Context) error { return r.tell("ready") }
func (r *recorder) Nodes(context.Context) ([]Node, error) {
	return []Node{{Name: "n", Pool: "p", Address: "127.1.1.1", State: Frozen, PID: 7}}, nil
}
func (r *recorder) Add(_ context.Context, pool string) (string, error) {
	return pool + "-0", r.tell("add", pool)
}
func (r *recorder) Kill(_ context.Context, node string) error   { return r.tell("kill", node) }
func (r *recorder) Start(_ context.Context, node string) error  { return r.tell("start", node) }
func (r *recorder) Freeze(_ context.Context, node string) error { return r.tell("freeze", node) }
func (r *recorder) Thaw(_ context.Context, node string) error   { return r.tell("thaw", node) }
func (r *recorder) Delete(_ context.Context, node string) error { return r.tell("delete", node) }
func (r *recorder) Slow(_ context.Context, node string, factor float64) error {
	return r.tell(fmt.Sprintf("slow by %g", factor), node)
}
func (r *recorder) Preempt(_ context.Context, node string, grace time.Duration) error {
	return r.tell("preempt", grace.String(), node)
}
func (r *recorder) Pools(context.Context) ([]Pool, error) {
	none, end := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return []Pool{{Name: "fixed", Count: 2}, {Name: "p", Limits: &Limits{Max: 3}, Upcoming: 1, Stock: &none, BackoffUntil: &end}}, nil
}
func (r *recorder) SetStock(_ context.Context, pool string, machines int) error {
	return r.tell(fmt.Sprintf("stock of %d", machines), pool)
}
func (r *recorder) SetUnlimitedStock(_ context.Context, pool string) error {
	return r.tell("unlimited stock", pool)
}

// serve has a server in a new folder, and its client.
func serve(t *testing.T, stop func()) (*Server, *Client) {
	t.Helper()
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(stop)
	done := make(chan struct{})
	go func() {
		server.Serve(listener)
		close(done)
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	client, err := NewClient(dir)
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

func TestWhatTheClientIsToldTheClusterIsTold(t *testing.T) {
	server, client := serve(t, nil)
	cluster := &recorder{}
	server.Provide(cluster)
	ctx := t.Context()
	name, err := client.Add(ctx, "pool")
	if name != "pool-0" {
		t.Errorf("the new node is %q", name)
	}
	err = errors.Join(err, client.Ready(ctx), client.Kill(ctx, "a"), client.Start(ctx, "a"), client.Freeze(ctx, "a"),
		client.Thaw(ctx, "a"), client.Slow(ctx, "a", 2.5), client.Preempt(ctx, "odd/name?", 1500*time.Millisecond), client.Delete(ctx, "a"),
		client.SetStock(ctx, "odd/name?", 0), client.SetUnlimitedStock(ctx, "p"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"add", "pool", "ready", "kill", "a", "start", "a", "freeze", "a", "thaw", "a", "slow by 2.5", "a", "preempt", "1.5s", "odd/name?", "delete", "a",
		"stock of 0", "odd/name?", "unlimited stock", "p"}
	if !reflect.DeepEqual(cluster.commands, want) {
		t.Errorf("commands %q\nwant %q", cluster.commands, want)
	}
	nodes, err := client.Nodes(ctx)
	if want, _ := cluster.Nodes(ctx); err != nil || !reflect.DeepEqual(nodes, want) {
		t.Errorf("nodes %v, want %v (%v)", nodes, want, err)
	}
	pools, err := client.Pools(ctx)
	if want, _ := cluster.Pools(ctx); err != nil || !reflect.DeepEqual(pools, want) {
		t.Errorf("pools %v, want %v (%v)", pools, want, err)
	}
}

func TestAnErrorOfTheClusterIsTheClients(t *testing.T) {
	server, client := serve(t, nil)
	server.Provide(&recorder{})
	if err := client.Kill(t.Context(), "broken"); err == nil || err.Error() != "node broken does not work" {
		t.Errorf("got %v", err)
	}
}

func TestRequestsWaitUntilThereIsACluster(t *testing.T) {
	server, client := serve(t, nil)
	answer := make(chan error)
	go func() { answer <- client.Ready(context.Background()) }()
	select {
	case err := <-answer:
		t.Fatalf("ready before there is a cluster: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	server.Provide(&recorder{})
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestAFolderHasOneCluster(t *testing.T) {
	dir := t.TempDir()
	first, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(dir + "/."); !errors.Is(err, ErrRunning) {
		t.Errorf("a second one: %v", err)
	}
	first.Close()
	again, err := Listen(dir)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	again.Close()
}

func TestAClientWithoutAClusterSaysSo(t *testing.T) {
	client, err := NewClient(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Nodes(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Errorf("stopping what does not run: %v", err)
	}
}

func TestStopIsHeardBeforeThereIsACluster(t *testing.T) {
	stopped := make(chan struct{})
	_, client := serve(t, func() { close(stopped) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = client.Stop(ctx) }() // returns when the cluster has ended, which this one does not
	<-stopped
	cancel()
}
