package chart

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
)

// nextChart is a later version of the chart, in which the definition of GpuPool has another column.
func nextChart(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "sailor")
	if said, err := exec.CommandContext(testContext(t), "cp", "-rL", chartFolder(), folder).CombinedOutput(); err != nil {
		t.Fatalf("copying the chart: %v: %s", err, said)
	}
	replace(t, filepath.Join(folder, "Chart.yaml"), "\nversion: ", "\nversion: 9") // so much newer
	replace(t, filepath.Join(folder, "files", "crds", "gpupool.yaml"), "additionalPrinterColumns:\n",
		"additionalPrinterColumns:\n    - {name: Region, type: string, jsonPath: .spec.region}\n")
	return folder
}

func replace(t *testing.T, file, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s does not hold %q once", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func applyExample(t *testing.T) {
	t.Helper()
	kubectl(t, "apply", "-f", filepath.Join(root, "crds", "examples", "quickstart.yaml"))
}

func TestAnInstallationIsUpgradedWithItsDefinitions(t *testing.T) {
	install(t, chartFolder())
	applyExample(t)
	if header := columnsOfPools(t); strings.Contains(header, "Region") {
		t.Fatalf("the column is there before the upgrade: %s", header)
	}
	helm(t, "upgrade", release, nextChart(t), "--namespace", namespace, "--set", "replicas=3")
	if header := columnsOfPools(t); !strings.Contains(header, "Region") {
		t.Errorf("the upgrade left the definition with the columns %s", header)
	}
	if replicas := kubectl(t, "-n", namespace, "get", "deployment", release, "-o", "jsonpath={.spec.replicas}"); replicas != "3" {
		t.Errorf("the upgrade left %s replicas", replicas)
	}
	helm(t, "rollback", release, "1", "--namespace", namespace)
	if header := columnsOfPools(t); strings.Contains(header, "Region") {
		t.Errorf("the rollback left the column: %s", header)
	}
	kubectl(t, "get", "tj", "quickstart")
}

func columnsOfPools(t *testing.T) string {
	t.Helper()
	return kubectl(t, "get", "crd", "gpupools.sailor.dev", "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}")
}

func TestUninstallingKeepsDefinitionsAndJobsForTheNextInstallation(t *testing.T) {
	install(t, chartFolder())
	applyExample(t)
	before := kubectl(t, "get", "tj", "quickstart", "-o", "jsonpath={.metadata.uid}")
	helm(t, "uninstall", release, "--namespace", namespace, "--wait")
	left, err := cluster.Kubernetes.RbacV1().ClusterRoles().List(testContext(t), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=sailor"})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("%d cluster roles are left: %v", len(left.Items), err)
	}
	helm(t, "install", release, chartFolder(), "--namespace", namespace)
	if after := kubectl(t, "get", "tj", "quickstart", "-o", "jsonpath={.metadata.uid}"); after != before {
		t.Errorf("the job %s became %s", before, after)
	}
}

func TestDefinitionsGoWithTheReleaseWhereTheyAreNotToBeKept(t *testing.T) {
	install(t, chartFolder(), "--set", "crds.keep=false")
	helm(t, "uninstall", release, "--namespace", namespace, "--wait")
	testcluster.Eventually(t, time.Minute, "the definitions to go", func(ctx context.Context) (bool, error) {
		names, err := definitions(ctx)
		return len(names) == 0, err
	})
}

func TestTheOperatorsPodIsLetIntoARestrictedNamespace(t *testing.T) {
	install(t, chartFolder(), "--set", "replicas=0")
	kubectl(t, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, "-n", namespace, "scale", "deployment", release, "--replicas=1")
	testcluster.Eventually(t, time.Minute, "the operator's pod", func(ctx context.Context) (bool, error) {
		pods, err := cluster.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=operator"})
		return err == nil && len(pods.Items) == 1, err
	})
}

func TestTheNotesTellWhatToDoNext(t *testing.T) {
	install(t, chartFolder())
	notes := helm(t, "get", "notes", release, "--namespace", namespace)
	for _, part := range []string{"rollout status deployment/sailor", "kubectl apply -f crds/examples/quickstart.yaml", "Uninstalling keeps the CRDs"} {
		if !strings.Contains(notes, part) {
			t.Errorf("the notes lack %q:\n%s", part, notes)
		}
	}
}
