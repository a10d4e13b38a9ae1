package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/cluster/testcluster"
)

// small is a cluster of one node.
func small() testcluster.Options {
	return testcluster.Options{Config: config.Config{NodePools: []config.NodePool{{Name: "only", Count: 1}}}}
}

func TestNothingOutlivesAKilledClusterAndItsFolderServesAgain(t *testing.T) {
	options := small()
	options.Dir = filepath.Join(t.TempDir(), strings.Repeat("long", 30)) // longer than a socket's path may be
	options.Config.Network = "127.200.0.0/16"                            // no other cluster uses it; another cluster may take a free one as soon as ours has ended
	c, err := testcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), "run", "left", "--image=any", "--command", "--", "sleep", "1000"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), "wait", "--for=condition=Ready", "pod/left", "--timeout=90s"); err != nil {
		t.Fatal(err)
	}
	processes, err := process.Tree(c.PID)
	if err != nil || len(processes) < 7 { // up, four components, a kubelet, the pod
		t.Fatalf("only %v run: %v", processes, err)
	}
	if err := syscall.Kill(c.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Stop() // returns an error, because the cluster was killed
	eventuallyEnded(t, processes)
	assertNothingIn(t, c)

	again, err := testcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if pods, err := again.Kubectl(t.Context(), "get", "pods", "-o", "name"); err != nil || pods != "" {
		t.Errorf("the new cluster has the pods %q of the old one (%v)", pods, err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}

// assertNothingIn finds what a cluster that has ended should not have left.
func assertNothingIn(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), c.Dir) {
		t.Errorf("something is still mounted in %s (%v)", c.Dir, err)
	}
	err = filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSocket != 0 {
			t.Errorf("the socket %s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	server, err := url.Parse(c.REST.Host)
	if err != nil {
		t.Fatal(err)
	}
	// A process counts as a zombie when its first thread has ended; its sockets end with the last.
	testcluster.Eventually(t, patience, "the end of all listeners on "+server.Host, func(context.Context) (bool, error) {
		conn, err := net.Dial("tcp", server.Host)
		if err == nil {
			conn.Close()
		}
		return err != nil, nil
	})
	if _, err := c.Nodes(t.Context()); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("asking it for its nodes: %v", err)
	}
}

// doomedDir names the folder of a cluster that this program starts in order to be killed.
const doomedDir = "SAILOR_TEST_DOOMED_DIR"

func holdClusterUntilKilled() {
	options := small()
	options.Dir = os.Getenv(doomedDir)
	c, err := testcluster.Start(context.Background(), options)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.PID)
	select {}
}

func TestAClusterEndsWithTheProcessThatStartedItEvenIfThatIsKilled(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command("/proc/self/exe")
	holder.Env = append(os.Environ(), doomedDir+"="+dir)
	holder.Stderr = os.Stderr
	output, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscan(output, &pid)
	if err != nil {
		_ = holder.Process.Kill()
		t.Fatal(err, holder.Wait())
	}
	processes, err := process.Tree(pid)
	if err != nil {
		t.Error(err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = holder.Wait() // returns an error, because the process was killed
	eventuallyEnded(t, processes)
}

func TestASecondClusterInTheSameFolderIsRefused(t *testing.T) {
	err := up(t, shared.Dir)
	if want := "a cluster runs in " + shared.Dir; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := shared.Nodes(t.Context()); err != nil {
		t.Errorf("the first cluster has suffered: %v", err)
	}
}

func TestAStartInTheFolderOfARunningClusterIsRefusedAndSaysHowToEndIt(t *testing.T) {
	gke, err := testcluster.GKE()
	if err != nil {
		t.Fatal(err)
	}
	_, err = testcluster.Start(context.Background(), testcluster.Options{ConfigFile: gke, Dir: shared.Dir})
	if err == nil || !strings.Contains(err.Error(), "sailor-cluster down --dir "+shared.Dir) {
		t.Errorf("it was answered with %v", err)
	}
}

func TestAFolderWithOtherThingsInItIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	thesis := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(thesis, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := up(t, dir)
	if err == nil || !strings.Contains(err.Error(), "holds thesis.txt, which is not a cluster's") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(thesis); err != nil {
		t.Error(err)
	}
}

// up runs `sailor-cluster up`, which is expected to fail at once, and returns what it said.
func up(t *testing.T, dir string) error {
	t.Helper()
	gke, err := testcluster.GKE()
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), shared.Program("sailor-cluster"), "up", "--dir", dir, "--config", gke).CombinedOutput()
	if err == nil {
		return nil
	}
	return errors.New(string(said))
}
