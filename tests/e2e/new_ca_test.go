package e2e

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/credentials"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

const (
	caSecret       = "sailor-ca"
	identitySecret = "sailor-ca-identity"
)

func operatorSecret(ctx context.Context, name string) (*corev1.Secret, error) {
	return cluster.Kubernetes.CoreV1().Secrets(installation.Namespace).Get(ctx, name, metav1.GetOptions{})
}

func currentCA(t *testing.T) *x509.Certificate {
	t.Helper()
	secret, err := operatorSecret(testContext(t), caSecret)
	if err != nil {
		t.Fatal(err)
	}
	return certificateIn(t, secret.Data["tls.crt"])
}

// kubectl does what docs/security.md tells a user to do.
func (w *world) kubectl(args ...string) {
	w.t.Helper()
	if _, err := cluster.Kubectl(w.ctx, append([]string{"-n", installation.Namespace}, args...)...); err != nil {
		w.t.Fatal(err)
	}
}

// replaceCA has the operator make another CA.
func (w *world) replaceCA() *x509.Certificate {
	w.t.Helper()
	w.kubectl("delete", "secret", caSecret)
	w.kubectl("wait", "--for=create", "secret/"+caSecret, "--timeout=2m")
	return currentCA(w.t)
}

func isOf(ca, certificate *x509.Certificate) bool { return certificate.CheckSignatureFrom(ca) == nil }

func (w *world) untilAllPods(what string, holds func(context.Context, corev1.Pod) (bool, error)) {
	w.t.Helper()
	testcluster.Eventually(w.t, oneChange, what, func(ctx context.Context) (bool, error) {
		pods, err := w.pods(ctx)
		if err != nil || len(pods) == 0 {
			return false, err
		}
		for _, pod := range pods {
			if yes, err := holds(ctx, pod); !yes || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// operatorCertificate makes a certificate of the present CA.
func (w *world) operatorCertificate() credentials.Pair {
	w.t.Helper()
	pair, err := credentials.OfOperator(w.ctx, cluster.Kubernetes)
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

// accepts returns whether the agent of a pod obeys who has the certificate.
func accepts(t *testing.T, pod corev1.Pod, pair credentials.Pair) bool {
	t.Helper()
	return statusOf(t, client(t, pair), http.MethodGet, fmt.Sprintf("https://%s:7070/v1/state", pod.Status.PodIP), "") == http.StatusOK
}

// untilAgentsShow waits until the agents of all pods have certificates of the CA.
func (w *world) untilAgentsShow(ca *x509.Certificate) {
	w.t.Helper()
	w.untilAllPods("all agents to have a certificate of the new CA", func(ctx context.Context, pod corev1.Pod) (bool, error) {
		shown, err := shownCertificate(ctx, pod.Status.PodIP+":7070")
		return err == nil && isOf(ca, shown), err
	})
}

// operatorAddress is where agents reach the operator.
func operatorAddress(ctx context.Context) (string, error) {
	identity, err := leader(ctx)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(identity, "_")
	pod, err := cluster.Kubernetes.CoreV1().Pods(installation.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return pod.Status.PodIP + ":8082", nil
}

// untilTheOperatorShows waits until the operator answers agents with a certificate of the CA.
func (w *world) untilTheOperatorShows(ca *x509.Certificate) {
	w.t.Helper()
	testcluster.Eventually(w.t, oneChange, "the operator to have a certificate of the CA", func(ctx context.Context) (bool, error) {
		address, err := operatorAddress(ctx)
		if err != nil {
			return false, err
		}
		shown, err := shownCertificate(ctx, address)
		return err == nil && isOf(ca, shown), err
	})
}

// mayGiveHints returns whether the operator believes who has the certificate that it is an agent of the job.
func (w *world) mayGiveHints(pair credentials.Pair) bool {
	w.t.Helper()
	address, err := operatorAddress(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	hint := fmt.Sprintf(`{"namespace": %q, "job": %q, "agent": "test", "reason": "PeerLost", "message": "a test"}`, w.namespace, w.job)
	return statusOf(w.t, client(w.t, pair), http.MethodPost, "https://"+address+"/v1/hints", hint) == http.StatusNoContent
}

func (w *world) jobsCertificate() credentials.Pair {
	w.t.Helper()
	data := w.credentials().Data
	return credentials.Pair{Certificate: data["tls.crt"], Key: data["tls.key"]}
}

// ageOperatorsCertificate puts a certificate that is an hour old in the place of the operator's.
func (w *world) ageOperatorsCertificate() {
	w.t.Helper()
	pair, err := credentials.OfOperatorUntil(w.ctx, cluster.Kubernetes, time.Now().Add(30*24*time.Hour-time.Hour))
	if err != nil {
		w.t.Fatal(err)
	}
	secret, err := operatorSecret(w.ctx, identitySecret)
	if err != nil {
		w.t.Fatal(err)
	}
	secret.Data["tls.crt"], secret.Data["tls.key"] = pair.Certificate, pair.Key
	if _, err := cluster.Kubernetes.CoreV1().Secrets(installation.Namespace).Update(w.ctx, secret, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) nodesByPod() map[string]string {
	w.t.Helper()
	pods, err := w.pods(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	nodes := map[string]string{}
	for _, pod := range pods {
		nodes[string(pod.UID)] = pod.Spec.NodeName
	}
	return nodes
}

// Twenty minutes after a change of the CA its certificates are given out. Here the change is made older instead, and before it the
// operator's certificate, which must be the older one. An operator that starts gives a job its certificate at once; others do so each day.
func TestANewCaReplacesTheOldOneWhileAJobTrains(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "ca-replaced", Steps: trainingjob.Endless, Resources: "{minGpus: 4}"})
	before := w.untilTraining()
	recorder := trainingjob.Record(w.ctx, cluster.Kubernetes, w.namespace, w.job, 50*time.Millisecond)
	pods, first := w.nodesByPod(), w.credentials().Data
	w.ageOperatorsCertificate()
	old, current := currentCA(t), w.replaceCA()
	if current.Equal(old) {
		t.Fatal("the CA was not replaced")
	}

	operator := w.operatorCertificate()
	w.untilAllPods("all agents to trust the new CA", func(_ context.Context, pod corev1.Pod) (bool, error) {
		return accepts(t, pod, operator), nil
	})
	if now := w.credentials().Data; !bytes.Equal(now["tls.crt"], first["tls.crt"]) || !bytes.HasSuffix(now["ca.crt"], first["ca.crt"]) {
		t.Error("the job has another certificate, or does not trust the old CA, while agents may not trust the new one")
	}
	w.untilTheOperatorShows(old)
	w.kubectl("annotate", "--overwrite", "secret", identitySecret, "sailor.dev/trust-changed-at="+time.Now().Add(-21*time.Minute).UTC().Format(time.RFC3339))
	w.untilTheOperatorShows(current)

	identity, err := leader(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.killOperator(identity)
	w.untilAgentsShow(current)
	untilMoreSteps(t, recorder)
	seen := w.present().Status.Progress.Step
	after := w.until("the operator reports steps", func(job trainingjob.Job) bool { return job.Status.Progress.Step > seen+20 })
	w.mustHaveKeptItsPlan(before, after)
	if now := w.nodesByPod(); !maps.Equal(now, pods) {
		t.Errorf("the job has other pods than before: %v, not %v", now, pods)
	}
	steps := recorder.Samples()
	for i := range steps[1:] {
		if steps[i+1].Step < steps[i].Step {
			t.Errorf("step %d was done after step %d", steps[i+1].Step, steps[i].Step)
		}
	}
}

func TestALeakedCaIsDroppedAtOnce(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "ca-leaked", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t)})
	w.until("it is saved", func(job trainingjob.Job) bool { return trains(job, 0) && job.Status.Progress.LastCheckpointStep > 0 })
	stolen := w.operatorCertificate()
	w.untilAllPods("all agents to accept a certificate of the CA", func(_ context.Context, pod corev1.Pod) (bool, error) {
		return accepts(t, pod, stolen), nil
	})
	stolenOfJob := w.jobsCertificate()
	if !w.mayGiveHints(stolenOfJob) {
		t.Fatal("the operator refuses the job's certificate")
	}
	t.Cleanup(func() { // the next CA is to have an overlap
		if _, err := cluster.Kubectl(testContext(t), "-n", installation.Namespace, "annotate", "secret", caSecret, "sailor.dev/distrust-previous-cas-"); err != nil {
			t.Error(err)
		}
	})
	current := w.replaceCA()
	w.kubectl("annotate", "secret", caSecret, "sailor.dev/distrust-previous-cas=true")
	w.untilTheOperatorShows(current)
	w.untilAgentsShow(current)
	operator := w.operatorCertificate()
	w.untilAllPods("all agents to accept certificates of the new CA only", func(_ context.Context, pod corev1.Pod) (bool, error) {
		return !accepts(t, pod, stolen) && accepts(t, pod, operator), nil
	})
	if w.mayGiveHints(stolenOfJob) || !w.mayGiveHints(w.jobsCertificate()) {
		t.Error("the operator believes a job's certificate of the old CA, or refuses one of the new CA")
	}
	seen := w.present().Status.Progress.Step
	after := w.until("it trains on", func(job trainingjob.Job) bool {
		return job.Is("Running") && job.Status.Progress.Step > seen+20
	})
	t.Logf("the job has plan %d, lost %d steps in %d restarts", after.Status.Plan.Generation, after.Status.Progress.StepsLost, after.Status.Restarts)
}
