package guide

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/ociregistry"
)

// reader is somebody who follows the page in the root of the repository.
type reader struct {
	t           *testing.T
	cluster     *testcluster.Cluster
	page        []section
	variables   string // commands that set what all others need
	desk        string // the folder in which the commands run
	notes       string // the folder of what was asked of programs of the cloud
	environment []string
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// emptyPools is a cluster with the node pools that the page makes.
func emptyPools(root string) config.Config {
	pool := func(name, zone string, spot bool) config.NodePool {
		return config.NodePool{Name: name, MaxCount: 1, Region: "us-central1", Zone: zone, MachineType: "g2-standard-24", CPU: 24, Memory: "96Gi",
			Accelerator: "nvidia-l4", GPUs: 2, Spot: spot}
	}
	return config.Config{Root: root, NodePools: []config.NodePool{
		{Name: "system", Count: 1, CPU: 4, Memory: "16Gi"}, pool("l4", "us-central1-a", false),
		pool("l4-spot-a", "us-central1-a", true), pool("l4-spot-b", "us-central1-b", true),
	}, Images: []config.Image{
		{Name: "*/sailor-operator:*", Entrypoint: []string{filepath.Join(root, "build/bin/sailor-operator")}},
		{Name: "*/sailor-trainer:*", Entrypoint: []string{filepath.Join(root, "build/bin/sailor-trainer")}},
	}}
}

// startCluster starts a cluster that ends with the test.
func startCluster(t *testing.T, options testcluster.Options) *testcluster.Cluster {
	t.Helper()
	cluster, err := testcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func newReader(t *testing.T, page string) *reader {
	t.Helper()
	root := repositoryRoot(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	cluster, registry := startCluster(t, testcluster.Options{Config: emptyPools(root)}), ociregistry.Start(t)
	r := &reader{t: t, cluster: cluster, page: sections(string(text)), desk: t.TempDir(), notes: t.TempDir()}
	shims := t.TempDir()
	for name := range programs {
		text := script(name, r.notes, filepath.Join(root, "build", "bin"), registry)
		if err := os.WriteFile(filepath.Join(shims, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".git", "build", "charts", "crds", "docker"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(r.desk, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.environment = append(cluster.Environment(), "PATH="+shims+":"+os.Getenv("PATH"))
	return r
}

// follow runs the commands of the sections whose headings match, each after the variables.
func (r *reader) follow(headings string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	matches := regexp.MustCompile(headings)
	for _, section := range r.page {
		if !matches.MatchString(section.heading) {
			continue
		}
		command := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail\n"+r.variables+section.commands)
		command.Dir, command.Env, command.WaitDelay = r.desk, r.environment, time.Second
		if output, err := command.CombinedOutput(); err != nil {
			r.t.Fatalf("the commands of %q: %v\n%s", section.heading, err, output)
		}
	}
}

func (r *reader) noted(program string) []string {
	text, err := os.ReadFile(filepath.Join(r.notes, program))
	if err != nil {
		r.t.Error(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// volume is what the storage class of the page provides.
const volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: filestore}
spec:
  capacity: {storage: 1Ti}
  accessModes: [ReadWriteMany]
  storageClassName: standard-rwx
  hostPath: {path: %s, type: Directory}
`

// managedKind is a kind of Google's managed Prometheus, which each GKE cluster serves: its plural and its name.
const managedKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.monitoring.googleapis.com}
spec:
  group: monitoring.googleapis.com
  names: {plural: %[1]s, kind: %[2]s}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---`

func TestTheCommandsOfThePageAboutGKEWork(t *testing.T) {
	r := newReader(t, "gke.md")
	r.variables = r.page[0].commands // the page begins with them
	ofGKE := fmt.Sprintf(managedKind, "podmonitorings", "PodMonitoring") + fmt.Sprintf(managedKind, "rules", "Rules") + fmt.Sprintf(volume, t.TempDir())
	if _, err := r.cluster.KubectlWithInput(t.Context(), ofGKE, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	tokens := bytes.Repeat([]byte{1, 0, 2, 0}, 1<<20) // of 16 bits
	if err := os.WriteFile(filepath.Join(r.desk, "tokens.bin"), tokens, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, pool := range []string{"l4-spot-a", "l4-spot-b"} { // this machine is too small for all the workers of the page
		if err := r.cluster.SetStock(t.Context(), pool, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.follow("^[1-8]")
	for _, gone := range []string{"trainingjobs", "persistentvolumeclaims"} {
		if left, err := r.cluster.Kubectl(t.Context(), "get", gone, "-o", "name"); err != nil || left != "" {
			t.Errorf("%s are left at the end: %s (%v)", gone, left, err)
		}
	}
	r.checkDocker()
	r.checkCloud()
}

// checkDocker looks whether the images that are pushed were built, and whether the Dockerfile has their targets.
func (r *reader) checkDocker() {
	dockerfile, err := os.ReadFile(filepath.Join(r.desk, "docker", "Dockerfile"))
	if err != nil {
		r.t.Fatal(err)
	}
	var built, pushed []string
	for _, line := range r.noted("docker") {
		words := strings.Fields(line)
		after := func(flag string) string { return words[slices.Index(words, flag)+1] }
		switch words[0] {
		case "build":
			built = append(built, after("-t"))
			if target := after("--target"); !strings.Contains(string(dockerfile), " AS "+target+"\n") {
				r.t.Errorf("docker/Dockerfile has no target %s", target)
			}
		case "push":
			pushed = append(pushed, words[1])
		default:
			r.t.Errorf("nobody looks at docker %s", line)
		}
	}
	if len(built) == 0 || !slices.Equal(built, pushed) {
		r.t.Errorf("docker builds %v and pushes %v", built, pushed)
	}
}

// checkCloud has gcloud look at each of its commands. It knows all flags, and asks nobody.
func (r *reader) checkCloud() {
	if _, err := exec.LookPath("gcloud"); err != nil {
		r.t.Log("the commands of gcloud were not looked at, because it is not installed")
		return
	}
	for _, line := range r.noted("gcloud") {
		output, err := exec.Command("gcloud", "meta", "lint-gcloud-commands", "--command-string="+line).Output()
		var found []struct {
			Success bool   `json:"success"`
			Message string `json:"error_message"`
		}
		if err == nil {
			err = json.Unmarshal(output, &found)
		}
		if err != nil || len(found) != 1 || !found[0].Success {
			r.t.Errorf("%s: %+v (%v)", line, found, err)
		}
	}
}
