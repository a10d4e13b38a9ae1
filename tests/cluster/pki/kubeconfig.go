package pki

import (
	"crypto/x509/pkix"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes the configuration of a client of the server, with a certificate NAME of its own.
func (a *Authority) Kubeconfig(file, server, name, user string, groups ...string) error {
	if err := a.Issue(name, pkix.Name{CommonName: user, Organization: groups}); err != nil {
		return err
	}
	return a.KubeconfigWith(file, server, name)
}

// KubeconfigWith is Kubeconfig with a certificate that was issued before.
func (a *Authority) KubeconfigWith(file, server, name string) error {
	const entry = "sailor-cluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[entry] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: a.File("ca.crt")}
	config.AuthInfos[entry] = &clientcmdapi.AuthInfo{ClientCertificate: a.File(name + ".crt"), ClientKey: a.File(name + ".key")}
	config.Contexts[entry] = &clientcmdapi.Context{Cluster: entry, AuthInfo: entry}
	config.CurrentContext = entry
	if err := clientcmdapi.FlattenConfig(config); err != nil { // puts the files' contents in their place
		return err
	}
	return clientcmd.WriteToFile(*config, file)
}
