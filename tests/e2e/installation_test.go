package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

// helm ends the test if it fails.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	output, err := cluster.Helm(ctx, append(args, "--namespace", installation.Namespace)...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func chartFolder(t *testing.T) string {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "charts", "sailor")
}

// leader returns the identity of the process that holds the operator's Lease: the name of its pod, and a suffix.
func leader(ctx context.Context) (string, error) {
	lease, err := cluster.Kubernetes.CoordinationV1().Leases(installation.Namespace).Get(ctx, "sailor-operator", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

func podOf(identity string) string {
	pod, _, _ := strings.Cut(identity, "_")
	return pod
}

// killOperator kills the operator's process in the pod of this identity, which has no time to give its Lease up.
func (w *world) killOperator(identity string) {
	w.t.Helper()
	w.signalOperator(identity, syscall.SIGKILL)
}

// signalOperator returns the process that it has sent the signal to.
func (w *world) signalOperator(identity string, signal syscall.Signal) (pid int) {
	w.t.Helper()
	pod := podOf(identity)
	for _, process := range w.processes("sailor-operator") {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", process.PID))
		if err != nil || !contains("\x00"+string(environment), "\x00POD_NAME="+pod+"\x00") {
			continue
		}
		if err := syscall.Kill(process.PID, signal); err != nil {
			w.t.Fatal(err)
		}
		return process.PID
	}
	w.t.Fatalf("no process of pod %s runs", pod)
	return 0
}

func TestHelmTestSaysWhatItHasChecked(t *testing.T) {
	said := helm(t, "test", "sailor", "--logs")
	for _, part := range []string{"ok      lists trainingjobs.sailor.dev", "ok      may create pods",
		"ok      may update secrets sailor-ca-identity in namespace sailor-system", "ok      an operator leads (Lease sailor-operator): sailor-"} {
		if !contains(said, part) {
			t.Errorf("%q is missing in\n%s", part, said)
		}
	}
}

// untilMoreSteps waits until the workers have done more steps than now, as they themselves say.
func untilMoreSteps(t *testing.T, recorder *trainingjob.Recorder) {
	t.Helper()
	curve, _ := recorder.Curve()
	now := curve.Last()
	testcluster.Eventually(t, oneChange, "the job to go on", func(context.Context) (bool, error) {
		curve, _ := recorder.Curve()
		return curve.Last() > now+20, nil
	})
}

func TestUpgradeRollbackAndUninstallLoseNoStepOfARunningJob(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "upgraded", Steps: trainingjob.Endless, Resources: "{minGpus: 4}"})
	before := w.untilTraining()
	recorder := trainingjob.Record(w.ctx, cluster.Kubernetes, w.namespace, w.job, 50*time.Millisecond)
	helm(t, "upgrade", "sailor", chartFolder(t), "--reuse-values", "--set", "logLevel=debug,replicas=2", "--wait")
	untilMoreSteps(t, recorder)
	helm(t, "rollback", "sailor", "--wait")
	untilMoreSteps(t, recorder)
	t.Cleanup(func() { // whatever happens, the next test finds an operator
		helm(t, slices.Concat([]string{"upgrade", "--install", "sailor", chartFolder(t), "--wait"}, installation.Settings, quick)...)
	})
	helm(t, "uninstall", "sailor", "--wait")
	untilMoreSteps(t, recorder)
	helm(t, slices.Concat([]string{"install", "sailor", chartFolder(t), "--wait"}, installation.Settings, quick)...)
	seen := w.present().Status.Progress.Step
	after := w.until("the new operator reports steps", func(job trainingjob.Job) bool { return job.Status.Progress.Step > seen+20 })
	w.mustHaveKeptItsPlan(before, after)
}

// untilAnotherLeads waits until the Lease has another holder than this one.
func (w *world) untilAnotherLeads(than string) (identity string) {
	w.t.Helper()
	began := time.Now()
	testcluster.Eventually(w.t, oneChange, "another process to lead", func(ctx context.Context) (found bool, err error) {
		identity, err = leader(ctx)
		return identity != "" && identity != than, err
	})
	w.t.Logf("another operator led after %.1f s", time.Since(began).Seconds())
	return identity
}

// A process that is killed starts again in the same pod and leads at once, because nothing else runs there. If it hangs, the other replica
// leads once the Lease has expired.
func TestALeaderThatIsKilledLeadsAgainAndTheOtherReplicaTakesOverIfItHangs(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "led", Steps: trainingjob.Endless, Resources: "{minGpus: 4}"})
	before := w.untilTraining()
	helm(t, "upgrade", "sailor", chartFolder(t), "--reuse-values", "--set", "replicas=2", "--wait")
	t.Cleanup(func() { helm(t, "rollback", "sailor", "--wait") })
	first := ""
	testcluster.Eventually(t, oneChange, "one of two replicas to lead", func(ctx context.Context) (found bool, err error) {
		pods, err := cluster.Kubernetes.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=operator"})
		if err != nil || len(pods.Items) != 2 { // those from before the upgrade are not gone yet
			return false, err
		}
		first, err = leader(ctx)
		return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Name == podOf(first) }), err
	})
	w.killOperator(first)
	again := w.untilAnotherLeads(first)
	if podOf(again) != podOf(first) {
		t.Errorf("%s was killed, and another pod leads: %s", first, again)
	}
	hanging := w.signalOperator(again, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(hanging, syscall.SIGCONT) }) // an error means that the kubelet has ended it
	if second := w.untilAnotherLeads(again); podOf(second) == podOf(first) {
		t.Errorf("%s hangs, and %s leads", again, second)
	}
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), 15*time.Second); err != nil {
		t.Fatal(err)
	}
	after := w.until("it leaves the node", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", after.Status.Progress.StepsLost)
	}
}
