// Package kubelet runs a real kubelet with three parts replaced: the machine's size (cadvisor), cgroups and devices
// (ContainerManager), and the container runtime.
package kubelet

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/util/oom"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/node"
	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/cluster/runtime"
)

// Run is the kubelet program, in PID and mount namespaces of its own. SIGTERM shuts the machine down as a cloud does:
// the pods end within their grace, then the program.
func Run(specFile string) error {
	spec, err := node.Read(specFile)
	if err != nil {
		return err
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	if err := mountProc(); err != nil {
		return err
	}
	sockets, err := process.NewSocketFolder()
	if err != nil {
		return err
	}
	defer sockets.File.Close() // stays referenced until here, because Go may close a File that nothing refers to
	busSocket, runtimeSocket := sockets.Path("dbus.sock"), sockets.Path("cri.sock")
	shutdown, err := serveLogind(busSocket, spec.Pool.GracePeriod())
	if err != nil {
		return err
	}
	os.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+busSocket) // the kubelet looks for logind here
	if err := runtime.Serve(spec, runtimeSocket); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-terminate
		shutdown() // returns when the pods have ended
		cancel()
	}()
	return runKubelet(ctx, spec, "unix://"+runtimeSocket)
}

func runKubelet(ctx context.Context, spec node.Spec, runtimeEndpoint string) error {
	root, err := mountRoot(spec)
	if err != nil {
		return err
	}
	server, err := settings(spec, root, runtimeEndpoint)
	if err != nil {
		return err
	}
	kubelet.ContainerLogsDir = spec.File("container-logs") // instead of /var/log/containers
	deps, err := kubeletapp.UnsecuredDependencies(ctx, server, utilfeature.DefaultFeatureGate)
	if err != nil {
		return err
	}
	deps.CAdvisorInterface = &machineSize{spec: spec}
	deps.ContainerManager = newDevices(spec.Pool.GPUs)
	deps.OOMAdjuster = oom.NewFakeOOMAdjuster()
	deps.OSInterface = noLogLinks{}
	return kubeletapp.Run(ctx, server, deps, utilfeature.DefaultFeatureGate)
}

// noLogLinks keeps the kubelet from making links in /var/log/containers.
type noLogLinks struct{ kubecontainer.RealOS }

func (noLogLinks) Symlink(string, string) error { return nil }

func settings(spec node.Spec, root, runtimeEndpoint string) (*options.KubeletServer, error) {
	s, err := options.NewKubeletServer()
	if err != nil {
		return nil, err
	}
	s.HostnameOverride = spec.Name
	s.KubeConfig = spec.File("kubeconfig")
	s.RootDirectory = root
	s.CertDirectory = spec.File("pki")
	s.NodeLabels = spec.Pool.NodeLabels()
	s.RegisterWithTaints = spec.Pool.NodeTaints()
	s.CloudProvider = "external" // the cloud sets the node's address: a kubelet refuses a loopback one
	s.ProviderID = "gce://sailor/" + spec.Pool.Zone + "/" + spec.Name
	s.PodLogsDir = spec.File("pod-logs")
	s.VolumePluginDir = spec.File("volume-plugins")
	s.ContainerRuntimeEndpoint = runtimeEndpoint
	s.ImageServiceEndpoint = runtimeEndpoint
	s.Address = spec.IP()
	s.HealthzPort = 0
	s.TLSCertFile = filepath.Join(spec.PKI, spec.Certificate()+".crt")
	s.TLSPrivateKeyFile = filepath.Join(spec.PKI, spec.Certificate()+".key")
	s.Authentication.X509.ClientCAFile = filepath.Join(spec.PKI, "ca.crt")
	s.CgroupsPerQOS = false
	s.EnforceNodeAllocatable = nil
	s.FailSwapOn = false
	s.MakeIPTablesUtilChains = false
	s.EvictionHard = map[string]string{}
	s.ShutdownGracePeriod.Duration = spec.Pool.GracePeriod()
	s.SyncFrequency.Duration = spec.Pool.TimeBetweenSyncs()
	s.SerializeImagePulls = false
	s.MaxPods = config.MaxPods
	s.MaxOpenFiles = 65536
	s.ResolverConfig = ""                                            // pods get the host's /etc/resolv.conf as it is
	s.FeatureGates = map[string]bool{"KubeletInUserNamespace": true} // errors only where /dev/kmsg, sysctls are closed
	return s, nil
}
