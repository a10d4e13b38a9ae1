package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/credentials"
	"sailor.dev/tests/trainingjob"
)

const operatorURI = "spiffe://sailor.dev/operator"

func (w *world) uri() string {
	return fmt.Sprintf("spiffe://sailor.dev/namespaces/%s/jobs/%s", w.namespace, w.job)
}

// credentials reads the Secret that the job's pods mount.
func (w *world) credentials() *corev1.Secret {
	w.t.Helper()
	secrets, err := cluster.Kubernetes.CoreV1().Secrets(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "sailor.dev/job-name=" + w.job})
	if err != nil || len(secrets.Items) != 1 {
		w.t.Fatalf("the job has %d Secrets, error %v", len(secrets.Items), err)
	}
	return &secrets.Items[0]
}

// certificateIn returns the first certificate in a PEM text.
func certificateIn(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate: %q", text)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// shownCertificate is the one with which a server answers.
func shownCertificate(ctx context.Context, address string) (*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// client connects as the one who has the certificate.
func client(t *testing.T, pair credentials.Pair) *http.Client {
	t.Helper()
	settings, err := pair.Client()
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: settings, DisableKeepAlives: true}, Timeout: 10 * time.Second}
}

// statusOf returns 0 if the agent ends the connection.
func statusOf(t *testing.T, client *http.Client, method, target, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(testContext(t), method, target, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func TestOnlyTheOperatorsCertificateOpensAnAgent(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "guarded", Steps: trainingjob.Endless})
	before := w.untilTraining()
	pods, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	agent := fmt.Sprintf("%s:7070", pods[0].Status.PodIP)
	secret := w.credentials()
	ofJob := client(t, credentials.Pair{Certificate: secret.Data["tls.crt"], Key: secret.Data["tls.key"]})
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	pair, err := credentials.OfOperator(w.ctx, cluster.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	ofOperator := client(t, pair)
	for _, tried := range []struct {
		who    string
		client *http.Client
		scheme string
		want   int
	}{
		{"who speaks no TLS", nobody, "http", 0},
		{"who has no certificate", nobody, "https", http.StatusForbidden},
		{"a pod of the job", ofJob, "https", http.StatusForbidden},
		{"the operator, with nonsense", ofOperator, "https", http.StatusBadRequest},
	} {
		if got := statusOf(t, tried.client, http.MethodPut, tried.scheme+"://"+agent+"/v1/assignment", "{}"); got != tried.want {
			t.Errorf("an assignment of %s is answered with %d, not %d", tried.who, got, tried.want)
		}
	}
	if got := statusOf(t, ofOperator, http.MethodGet, "https://"+agent+"/v1/state", ""); got != http.StatusOK {
		t.Errorf("the operator's poll is answered with %d", got)
	}
	policy, err := cluster.Kubernetes.NetworkingV1().NetworkPolicies(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "sailor.dev/job-name=" + w.job})
	if err != nil || len(policy.Items) != 1 {
		t.Fatalf("the job has %d NetworkPolicies, error %v", len(policy.Items), err)
	}
	if selected := policy.Items[0].Spec.PodSelector.MatchLabels["sailor.dev/job-uid"]; selected != string(before.UID) {
		t.Errorf("the NetworkPolicy selects the pods of %q", selected)
	}
	w.delete()
	w.untilGone("secrets")
	w.untilGone("networkpolicies")
}

// A certificate that is a day old is put in the place of the job's. The operator that wrote the first one waits for the kubelet for ten
// minutes, so another operator replaces it.
func TestCredentialsAreReplacedWithoutAPauseOfTraining(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "rotated", Steps: trainingjob.Endless})
	before := w.untilTraining()
	secret := w.credentials()
	old := time.Now().Add(29 * 24 * time.Hour).Truncate(time.Second)
	pair, err := credentials.OfJob(w.ctx, cluster.Kubernetes, w.namespace, w.job, old)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["tls.crt"], secret.Data["tls.key"] = pair.Certificate, pair.Key
	if _, err := cluster.Kubernetes.CoreV1().Secrets(w.namespace).Update(w.ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	identity, err := leader(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.killOperator(identity)
	testcluster.Eventually(t, oneChange, "the operator to replace a certificate that is a day old", func(context.Context) (bool, error) {
		return certificateIn(t, w.credentials().Data["tls.crt"]).NotAfter.After(old), nil
	})
	pods, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		testcluster.Eventually(t, oneChange, "agent "+pod.Name+" to show the new certificate", func(ctx context.Context) (bool, error) {
			shown, err := shownCertificate(ctx, pod.Status.PodIP+":7070")
			return err == nil && shown.NotAfter.After(old), err
		})
	}
	after := w.until("it trains on", func(job trainingjob.Job) bool { return job.Status.Progress.Step > before.Status.Progress.Step+10 })
	w.mustHaveKeptItsPlan(before, after)
}
