package controlplane

import (
	"context"
	"os"
	"strconv"

	"sailor.dev/tests/cluster/process"
)

// startStorage starts etcd. Unix sockets keep it to us without certificates; the http URLs are only names, which etcd
// wants to have a port.
func (cp *ControlPlane) startStorage(context.Context) (err error) {
	if cp.sockets, err = process.NewSocketFolder(); err != nil {
		return err
	}
	return cp.start("etcd",
		"--data-dir="+cp.file("etcd"),
		"--listen-client-urls=unix://"+cp.sockets.PathInChild("etcd.sock"), "--advertise-client-urls=http://localhost:2379",
		"--listen-peer-urls=unix://"+cp.sockets.PathInChild("peer.sock"), "--initial-advertise-peer-urls=http://localhost:2380",
		"--initial-cluster=default=http://localhost:2380",
		"--unsafe-no-fsync", "--log-level=warn")
}

func (cp *ControlPlane) startServer(context.Context) error {
	return cp.start("kube-apiserver",
		"--etcd-servers=unix://"+cp.sockets.PathInChild("etcd.sock"),
		"--bind-address="+cp.Address(), "--advertise-address="+cp.Address(), "--secure-port="+strconv.Itoa(cp.Port),
		"--endpoint-reconciler-type=none", // endpoints on loopback addresses are invalid
		"--service-cluster-ip-range="+cp.Network+".0.0/24",
		"--tls-cert-file="+cp.PKI.File("apiserver.crt"), "--tls-private-key-file="+cp.PKI.File("apiserver.key"),
		"--client-ca-file="+cp.PKI.File("ca.crt"),
		"--kubelet-certificate-authority="+cp.PKI.File("ca.crt"),
		"--kubelet-client-certificate="+cp.PKI.File("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+cp.PKI.File("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+cp.PKI.File("sa.key"), "--service-account-signing-key-file="+cp.PKI.File("sa.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction,ExtendedResourceToleration", // as on GKE, a pod that requests a GPU tolerates its taint
		"--anonymous-auth=false", "--allow-privileged=true", "--profiling=false",
		"--shutdown-send-retry-after=false")
}

func (cp *ControlPlane) startControllers(context.Context) error {
	err := cp.start("kube-controller-manager",
		"--kubeconfig="+cp.file("controller-manager.kubeconfig"), "--use-service-account-credentials",
		"--service-account-private-key-file="+cp.PKI.File("sa.key"), "--root-ca-file="+cp.PKI.File("ca.crt"),
		"--cluster-signing-cert-file="+cp.PKI.File("ca.crt"), "--cluster-signing-key-file="+cp.PKI.File("ca.key"),
		"--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller", // as above
		"--kube-api-qps=1000", "--kube-api-burst=1000", // with the default of 20 per second, starting takes 4 s longer
		"--leader-elect=false", "--secure-port=0", "--profiling=false")
	if err != nil {
		return err
	}
	return cp.start("kube-scheduler",
		"--kubeconfig="+cp.file("scheduler.kubeconfig"), "--leader-elect=false", "--secure-port=0", "--profiling=false")
}

// start runs a component and reports its end to cp.failed.
func (cp *ControlPlane) start(component string, args ...string) error {
	child, err := process.Start(LogDir(cp.Dir), process.Command{
		Name: component, Component: component, Args: append(args, cp.Args[component]...), Files: []*os.File{cp.sockets.File}})
	if err != nil {
		return err
	}
	cp.children = append(cp.children, child)
	go func() {
		<-child.Exited()
		cp.failed <- child.Obituary()
	}()
	return nil
}
