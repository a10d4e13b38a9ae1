package images

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

const imageUser = 65532

// testContext is for a test that needs the cluster. Without images, it skips the test.
func testContext(t *testing.T) context.Context {
	t.Helper()
	if noImages != "" {
		t.Skip(noImages)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// process is one of this machine that runs a program of an image.
type process struct {
	folder string // /proc/PID
	user   uint32
}

// processesOf returns those that run the program at this place of their file system.
func processesOf(t *testing.T, program string) (found []process) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		folder := filepath.Dir(link)
		info, err := os.Stat(folder)
		if target, _ := os.Readlink(link); err == nil && target == program {
			found = append(found, process{folder: folder, user: info.Sys().(*syscall.Stat_t).Uid})
		}
	}
	return found
}

// rootIsReadOnly tells whether the process can write nowhere but in volumes.
func (p process) rootIsReadOnly(t *testing.T) bool {
	mounts, err := os.ReadFile(filepath.Join(p.folder, "mounts"))
	if err != nil {
		t.Error(err)
	}
	return regexp.MustCompile(`(?m)^\S+ / overlay ro,`).Match(mounts)
}

func TestTheOperatorRunsFromItsImageAsItsUserOnAReadOnlyFileSystem(t *testing.T) {
	ctx := testContext(t)
	operators := processesOf(t, "/usr/local/bin/sailor-operator")
	if len(operators) != 1 || operators[0].user != imageUser || !operators[0].rootIsReadOnly(t) {
		t.Errorf("the operators are %+v", operators)
	}
	inPod := []string{"-n", installation.Namespace, "exec", "deploy/sailor", "--"}
	if version, err := cluster.Kubectl(ctx, append(inPod, "sailor", "--version")...); err != nil || strings.TrimSpace(version) == "" {
		t.Errorf("the command line in the image says %q (%v)", version, err)
	}
	if output, err := cluster.Kubectl(ctx, append(inPod, "sh")...); err == nil {
		t.Errorf("it has a shell: %q", output)
	}
}

// volumeOfRoot is a volume for all nodes that belongs to root, with a claim, as clouds provide them.
const volumeOfRoot = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: images}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: checkpoints}
spec: {accessModes: [ReadWriteMany], storageClassName: "", volumeName: images, resources: {requests: {storage: 1Gi}}}
`

func TestATrainerRunsFromItsImageAsItsUserOnAVolumeThatRootOwns(t *testing.T) {
	ctx := testContext(t)
	volume := t.TempDir()
	if err := os.Chmod(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "images", Labels: restricted}}
	if _, err := cluster.Kubernetes.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	job := trainingjob.Small{Name: "image", Steps: 40, Data: "/usr/share/doc/*/copyright", Extra: `
  checkpoint: {path: /checkpoints/image, everySteps: 20}
  podTemplate:
    spec:
      volumes: [{name: checkpoints, persistentVolumeClaim: {claimName: checkpoints}}]
      containers: [{name: trainer, volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]}]`}
	for _, manifest := range []string{fmt.Sprintf(volumeOfRoot, volume), job.Manifest()} {
		if _, err := cluster.KubectlWithInput(ctx, manifest, "-n", "images", "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	jobs, err := trainingjob.NewClient(cluster.REST, "images")
	if err != nil {
		t.Fatal(err)
	}
	var trainers []process
	var last trainingjob.Job
	err = jobs.Until(ctx, "image", func(job trainingjob.Job) (bool, error) {
		last = job
		if job.Status.Progress.Step > 0 && len(trainers) == 0 {
			trainers = processesOf(t, "/usr/local/bin/sailor-trainer")
		}
		return job.Is("Complete"), nil
	})
	if err != nil {
		t.Fatalf("the job did not complete: %v\n%+v", err, last.Status)
	}
	if isOther := func(p process) bool { return p.user != imageUser }; len(trainers) < 2 || slices.ContainsFunc(trainers, isOther) {
		t.Errorf("the agents and workers are %+v", trainers)
	}
	expectCheckpointsOfUser(t, filepath.Join(volume, "image"))
}

// expectCheckpointsOfUser fails unless there are files, and all belong to the image's user.
func expectCheckpointsOfUser(t *testing.T, folder string) {
	t.Helper()
	files := 0
	walk(t, folder, func(path string, info fs.FileInfo) {
		if info.IsDir() {
			return
		}
		files++
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != imageUser {
			t.Errorf("%s belongs to user %d", path, owner.Uid)
		}
	})
	if files == 0 {
		t.Errorf("there are no files in %s", folder)
	}
}
