// Package pki issues the certificates of one cluster, as files in one folder.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs with a key of its own.
type Authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

// New makes an authority in an empty folder, and sa.key, which signs the tokens of service accounts.
func New(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Authority{dir: dir}
	if _, err := newKey(a.File("sa.key")); err != nil {
		return nil, err
	}
	key, err := newKey(a.File("ca.key"))
	if err != nil {
		return nil, err
	}
	a.key, a.certificate = key, template(pkix.Name{CommonName: "sailor-cluster"})
	a.certificate.IsCA, a.certificate.BasicConstraintsValid = true, true
	a.certificate.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return a, a.sign(a.certificate, key.Public(), "ca.crt")
}

// File is where a certificate or key is.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }

// Issue writes NAME.crt and NAME.key, good for a client and, where addresses are given, for a server.
func (a *Authority) Issue(name string, subject pkix.Name, addresses ...string) error {
	key, err := newKey(a.File(name + ".key"))
	if err != nil {
		return err
	}
	certificate := template(subject)
	certificate.KeyUsage = x509.KeyUsageDigitalSignature
	certificate.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(addresses) > 0 {
		certificate.ExtKeyUsage = append(certificate.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		certificate.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	}
	for _, address := range addresses {
		certificate.IPAddresses = append(certificate.IPAddresses, net.ParseIP(address))
	}
	return a.sign(certificate, key.Public(), name+".crt")
}

func (a *Authority) sign(certificate *x509.Certificate, public crypto.PublicKey, name string) error {
	der, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, public, a.key)
	if err != nil {
		return fmt.Errorf("signing the certificate %s: %w", name, err)
	}
	return os.WriteFile(a.File(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func template(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	return &x509.Certificate{SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
}

func newKey(file string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
