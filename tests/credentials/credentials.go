// Package credentials makes certificates as the operator does, for tests that play the operator or an agent. It reads the operator's CA,
// as only an administrator may.
package credentials

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	namespace = "sailor-system" // installation.Namespace: that package uses this one
	authority = "sailor-ca"
	operator  = "spiffe://sailor.dev/operator"
)

// Pair is a certificate and its key, as PEM.
type Pair struct{ Certificate, Key []byte }

// OfJob makes a certificate of the job that expires at this time.
func OfJob(ctx context.Context, client kubernetes.Interface, jobNamespace, job string, expiry time.Time) (Pair, error) {
	return issue(ctx, client, fmt.Sprintf("spiffe://sailor.dev/namespaces/%s/jobs/%s", jobNamespace, job), expiry)
}

// OfOperator makes a certificate of the operator, which is valid for an hour.
func OfOperator(ctx context.Context, client kubernetes.Interface) (Pair, error) {
	return OfOperatorUntil(ctx, client, time.Now().Add(time.Hour))
}

// OfOperatorUntil makes a certificate of the operator that expires at this time.
func OfOperatorUntil(ctx context.Context, client kubernetes.Interface, expiry time.Time) (Pair, error) {
	return issue(ctx, client, operator, expiry)
}

func issue(ctx context.Context, client kubernetes.Interface, uri string, expiry time.Time) (Pair, error) {
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, authority, metav1.GetOptions{})
	if err != nil {
		return Pair{}, err
	}
	ca, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return Pair{}, fmt.Errorf("the operator's CA: %w", err)
	}
	issuer, err := x509.ParseCertificate(ca.Certificate[0])
	if err != nil {
		return Pair{}, fmt.Errorf("the operator's CA: %w", err)
	}
	identity, err := url.Parse(uri)
	if err != nil {
		return Pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), URIs: []*url.URL{identity},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: expiry, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), ca.PrivateKey)
	if err != nil {
		return Pair{}, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})}, nil
}

// Client returns how to connect as the one who has the certificate. It accepts every server: agents have no names that Go would check.
func (p Pair) Client() (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}}, nil
}
