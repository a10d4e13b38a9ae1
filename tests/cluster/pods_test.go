package cluster_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
)

func TestAPodRunsWithItsEnvironmentAndItsLogsCanBeRead(t *testing.T) {
	pod := aPod("environment", `echo "$GREETING from $HOSTNAME at $POD_IP"; echo aside >&2`)
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "GREETING", Value: "hello"},
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
	create(t, pod)
	got := output(t, pod.Name)
	ip := eventually(t, pod.Name, "have an address", func(p *corev1.Pod) bool { return p.Status.PodIP != "" }).Status.PodIP
	for _, want := range []string{"hello from environment at " + ip, "aside"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from the log: %q", want, got)
		}
	}
}

func TestAnImageRunsItsProgramWithItsEnvironmentAndThePodsArguments(t *testing.T) {
	pod := aPod("greeter", "")
	pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args = nil, []string{"good", "morning"}
	pod.Spec.Containers[0].Image = "registry.example/someone/greeter:v1"
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NAME", Value: "pod"}}
	create(t, pod)
	got := strings.Split(output(t, pod.Name), "\n")
	program := got[len(got)-1]
	if len(got) != 2 || got[0] != "hello pod: good morning" || filepath.Base(program) != "greet" {
		t.Fatalf("it said %q", got)
	}
	if text, err := os.ReadFile(program); err != nil || string(text) == "changed\n" {
		t.Errorf("the container has changed its program outside of itself: %q (%v)", text, err)
	}
}

func TestAnImageWithoutAProgramIsNamedInThePodsStatus(t *testing.T) {
	pod := aPod("unknown", "")
	pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Image = nil, "registry.example/unheard-of:v1"
	create(t, pod)
	eventually(t, pod.Name, "have a container that cannot be made, with the image in the message", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
			p.Status.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerError" &&
			strings.Contains(p.Status.ContainerStatuses[0].State.Waiting.Message, "registry.example/unheard-of:v1")
	})
}

func TestAnExitStatusAndATerminationMessageReachThePodsStatus(t *testing.T) {
	create(t, aPod("failing", "echo out of luck > /dev/termination-log; exit 3"))
	pod := eventually(t, "failing", "end", hasEnded)
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	if pod.Status.Phase != corev1.PodFailed || ended.ExitCode != 3 || ended.Message != "out of luck\n" {
		t.Errorf("the pod is %s, with exit code %d and message %q", pod.Status.Phase, ended.ExitCode, ended.Message)
	}
}

func TestAPodsProgramThatDoesNotExistIsNamedInItsStatus(t *testing.T) {
	pod := aPod("mistyped", "")
	pod.Spec.Containers[0].Command = []string{"no-such-program"}
	create(t, pod)
	ended := eventually(t, pod.Name, "end", hasEnded).Status.ContainerStatuses[0].State.Terminated
	if ended.Reason != "StartError" || !strings.Contains(ended.Message, "no-such-program") {
		t.Errorf("the reason is %q, the message %q", ended.Reason, ended.Message)
	}
}

func TestWhatAContainerWritesStaysInItUnlessItIsInAVolume(t *testing.T) {
	folder := t.TempDir()
	pod := aPod("writer", "echo kept > /volume/kept; echo lost > /usr/lost-with-its-container; echo lost > /tmp/lost; ls /usr/lost* /tmp")
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/volume"}}
	create(t, pod)
	if got := output(t, pod.Name); !strings.Contains(got, "/usr/lost-with-its-container") || !strings.Contains(got, "lost") {
		t.Errorf("the container does not see its files: %q", got)
	}
	if text, err := os.ReadFile(folder + "/kept"); err != nil || string(text) != "kept\n" {
		t.Errorf("the file in the volume: %q, %v", text, err)
	}
	if _, err := os.Stat("/usr/lost-with-its-container"); err == nil {
		t.Error("a file that is not in a volume is on the machine")
	}
}

func TestAContainerSeesItsOwnProcessesOnly(t *testing.T) {
	create(t, aPod("alone", "ls -d /proc/[0-9]*"))
	if got := output(t, "alone"); len(strings.Fields(got)) > 2 { // sh and ls
		t.Errorf("it sees %q", got)
	}
}

func TestExecRunsInThePodAndReturnsTheExitStatus(t *testing.T) {
	create(t, aPod("host", "sleep 1000"))
	eventually(t, "host", "run", isRunning)
	got, err := shared.Kubectl(t.Context(), "exec", "host", "--", "hostname")
	if err != nil || got != "host\n" {
		t.Errorf("hostname said %q, %v", got, err)
	}
	_, err = shared.Kubectl(t.Context(), "exec", "host", "--", "sh", "-c", "exit 7")
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("exit 7 ended with %v", err)
	}
}

func TestExecRunsAsTheUserOfTheContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a container as another user")
	}
	pod := aPod("user", "sleep 1000")
	user, group := int64(1000), int64(2000)
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &group, SupplementalGroups: []int64{3000}}
	create(t, pod)
	eventually(t, "user", "run", isRunning)
	got, err := shared.Kubectl(t.Context(), "exec", "user", "--", "sh", "-c", "echo $(id -u) $(id -G)")
	if want := "1000 2000 3000\n"; err != nil || got != want {
		t.Errorf("it runs as %q, not %q (%v)", got, want, err)
	}
}

func TestAServiceLeadsToItsReadyPod(t *testing.T) {
	server := aPod("server", `exec python3 -m http.server --bind "$POD_IP" 8080`)
	server.Labels = map[string]string{"app": "server"}
	server.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "POD_IP",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
	server.Spec.Containers[0].WorkingDir = "/usr/share/common-licenses"
	create(t, server)
	service := &corev1.Service{}
	service.Name = "web"
	service.Spec.Selector = server.Labels
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	service.Spec.Ports[0].TargetPort.IntVal = 8080
	service, err := shared.Kubernetes.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = shared.Kubectl(context.Background(), "delete", "service", "web") })
	testcluster.Eventually(t, patience, "an answer of the service", func(context.Context) (bool, error) {
		answer, err := http.Get("http://" + service.Spec.ClusterIP + "/Apache-2.0")
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return strings.Contains(string(text), "Apache License"), err
	})
}
