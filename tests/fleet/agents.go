package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	agentPort   = 7070
	operatorURI = "spiffe://sailor.dev/operator"
)

// errNotMounted means that the credentials of a pod are not there yet. A real kubelet tries again, too.
var errNotMounted = errors.New("the pod's Secret is not there yet")

// Agents are the simulated agents of all pods. Each one listens at the address of its pod.
type Agents struct {
	network string // the first two numbers of all addresses
	server  *http.Server
	ended   func(namespace, pod, report string) // called when a pod has done its last step

	mu      sync.Mutex
	issued  int // addresses
	byPod   map[string]*agent
	byHost  map[string]*agent
	runs    map[string]*run // by the UID of the job
	secrets map[string]*tls.Config
	expiry  map[string]int64 // of the certificate of a Secret, in seconds since 1970
	asked   atomic.Int64
}

func newAgents(network string) *Agents {
	a := &Agents{network: network, byPod: map[string]*agent{}, byHost: map[string]*agent{}, runs: map[string]*run{},
		secrets: map[string]*tls.Config{}, expiry: map[string]int64{}}
	a.server = &http.Server{Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, connection net.Conn) context.Context {
			return context.WithValue(ctx, hostKey{}, connection.LocalAddr().(*net.TCPAddr).IP.String())
		}}
	return a
}

type hostKey struct{}

// Requests is the number of requests that the agents have answered.
func (a *Agents) Requests() int64 { return a.asked.Load() }

// Running is the number of agents.
func (a *Agents) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.byPod)
}

// NotAskedSince is the number of agents that nobody has asked since then.
func (a *Agents) NotAskedSince(then time.Time) (count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.byPod {
		if one.askedAt.Load() < then.UnixNano() {
			count++
		}
	}
	return count
}

func (a *Agents) close() { _ = a.server.Close() }

// mount takes the credentials of a job, which its pods mount.
func (a *Agents) mount(secret *corev1.Secret) {
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	authorities := x509.NewCertPool()
	if err != nil || !authorities.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := secret.Namespace + "/" + secret.Name
	a.expiry[key] = pair.Leaf.NotAfter.Unix()
	a.secrets[key] = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities,
		MinVersion: tls.VersionTLS13, VerifyConnection: isOfOperator}
}

func isOfOperator(connection tls.ConnectionState) error {
	for _, uri := range connection.PeerCertificates[0].URIs {
		if uri.String() == operatorURI {
			return nil
		}
	}
	return errors.New("only the operator may ask an agent")
}

// start gives the pod an address, at which its agent then listens. It returns the same address if it is called again.
func (a *Agents) start(pod *corev1.Pod) (host string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := pod.Namespace + "/" + pod.Name
	if known := a.byPod[key]; known != nil && known.uid == string(pod.UID) {
		return known.host, nil
	}
	secret := pod.Namespace + "/" + secretOf(pod)
	settings := a.secrets[secret]
	if settings == nil {
		return "", errNotMounted
	}
	a.issued++
	host = fmt.Sprintf("%s.%d.%d", a.network, a.issued/250%250, a.issued%250+1)
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, agentPort))
	if err != nil {
		return "", fmt.Errorf("the agent of pod %s: %w", key, err)
	}
	one := &agent{fleet: a, namespace: pod.Namespace, name: pod.Name, uid: string(pod.UID), host: host, expires: a.expiry[secret], listener: listener}
	a.byPod[key], a.byHost[host] = one, one
	go func() { _ = a.server.Serve(tls.NewListener(listener, settings)) }() // it ends when the listener is closed
	return host, nil
}

func secretOf(pod *corev1.Pod) string {
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// remove ends the agent of a pod, if it has one.
func (a *Agents) remove(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.byPod[key]
	if one == nil {
		return
	}
	one.listener.Close()
	delete(a.byPod, key)
	delete(a.byHost, one.host)
}

func (a *Agents) runOf(jobUID string) *run {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs[jobUID] == nil {
		a.runs[jobUID] = &run{}
	}
	return a.runs[jobUID]
}

func (a *Agents) serve(writer http.ResponseWriter, request *http.Request) {
	host, _ := request.Context().Value(hostKey{}).(string)
	a.mu.Lock()
	one := a.byHost[host]
	a.mu.Unlock()
	if one == nil { // the pod has ended, and a connection to it is still open
		writer.Header().Set("Connection", "close")
		writer.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	a.asked.Add(1)
	one.askedAt.Store(time.Now().UnixNano())
	status, answer := one.answer(request)
	body, err := json.Marshal(answer)
	if err != nil {
		status = http.StatusInternalServerError
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_, _ = writer.Write(body) // if the operator is gone, it does not matter
}
