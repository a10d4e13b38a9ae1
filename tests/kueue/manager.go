package kueue

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/pki"
	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/cluster/testcluster"
)

const (
	namespace      = "kueue-system"
	serviceAccount = "kueue-controller-manager"
	webhookPort    = 9443
	probePort      = 8081
	logLinesShown  = 60
)

func (k *Kueue) file(name string) string { return filepath.Join(k.folder, name) }

func (k *Kueue) webhookURL() string { return fmt.Sprintf("https://%s:%d", k.address, webhookPort) }

// issueCertificates writes ca.crt, tls.crt and tls.key.
func (k *Kueue) issueCertificates(context.Context) error {
	authority, err := pki.New(k.folder)
	if err != nil {
		return err
	}
	return authority.Issue("tls", pkix.Name{CommonName: "kueue-webhook-service"}, k.address)
}

// configure writes kubeconfig, with the rights of Kueue's service account, and config.yaml.
func (k *Kueue) configure(ctx context.Context) error {
	lifetime := int64(24 * 60 * 60)
	token, err := k.cluster.Kubernetes.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	access := clientcmdapi.NewConfig()
	access.Clusters[namespace] = &clientcmdapi.Cluster{Server: k.cluster.REST.Host, CertificateAuthorityData: k.cluster.REST.CAData}
	access.AuthInfos[namespace] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	access.Contexts[namespace] = &clientcmdapi.Context{Cluster: namespace, AuthInfo: namespace}
	access.CurrentContext = namespace
	if err := clientcmd.WriteToFile(*access, k.file("kubeconfig")); err != nil {
		return err
	}
	return os.WriteFile(k.file("config.yaml"), []byte(k.configuration()), 0o600)
}

// configuration differs from that of Kueue's installation in its addresses, in the integrations, and in that there is one replica.
func (k *Kueue) configuration() string {
	text := fmt.Sprintf(`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: "%s:%d"}
metrics: {bindAddress: "0"}
webhook: {host: %s, port: %d, certDir: %s}
internalCertManagement: {enable: false}
leaderElection: {leaderElect: false}
clientConnection: {qps: 50, burst: 100}
manageJobsWithoutQueueName: false
integrations: {frameworks: [batch/job]}
featureGates: {VisibilityOnDemand: false}
`, namespace, k.address, probePort, k.address, webhookPort, k.folder)
	if k.options.PodsReadyTimeout > 0 {
		text += fmt.Sprintf("waitForPodsReady: {timeout: %s, requeuingStrategy: {backoffBaseSeconds: 1}}\n", k.options.PodsReadyTimeout)
	}
	return text
}

// inEtcOfItsOwn runs a program with another /etc: Kueue reads the certificates of its metrics from /etc/kueue/metrics/certs, even if it
// serves no metrics.
const inEtcOfItsOwn = `mount -t tmpfs kueue /etc && mkdir -p /etc/kueue/metrics && ln -s "$0" /etc/kueue/metrics/certs && exec "$@"`

// launch starts the process. Its mounts need what the local cluster needs too: root, or user namespaces.
func (k *Kueue) launch(context.Context) error {
	k.logFile = filepath.Join(controlplane.LogDir(k.cluster.Dir), "kueue.log")
	log, err := os.OpenFile(k.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"--mount"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(args, "sh", "-c", inEtcOfItsOwn, k.folder, k.program.manager, "--config="+k.file("config.yaml"), "--zap-log-level=2")
	command := exec.Command("unshare", args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+k.file("kubeconfig"))
	command.Stdout, command.Stderr = log, log
	if err := process.StartBound(command); err != nil {
		return err
	}
	k.process = command
	go func() {
		_ = command.Wait() // how it ended is in its log
		close(k.ended)
	}()
	return nil
}

// awaitReady returns when the process says that it is ready, or has ended.
func (k *Kueue) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	url := fmt.Sprintf("http://%s:%d/readyz", k.address, probePort)
	hasEnded := false
	err := testcluster.Await(ctx, "Kueue to be ready", func(ctx context.Context) (bool, error) {
		select {
		case <-k.ended:
			hasEnded = true
			return true, nil
		default:
			return isOK(ctx, url)
		}
	})
	if hasEnded {
		return fmt.Errorf("the process has ended; its last words in %s: %s", k.logFile, k.lastLines(1))
	}
	return err
}

func isOK(ctx context.Context, url string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK, nil
}

func (k *Kueue) stopProcess() {
	if k.process == nil {
		return
	}
	_ = k.process.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-k.ended:
	case <-time.After(10 * time.Second):
		_ = k.process.Process.Kill()
		<-k.ended
	}
}

func (k *Kueue) showLog() {
	if k.process != nil {
		k.t.Logf("the end of %s:\n%s", k.logFile, k.lastLines(logLinesShown))
	}
}

func (k *Kueue) lastLines(count int) string {
	text, err := os.ReadFile(k.logFile)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
