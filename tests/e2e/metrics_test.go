package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

const prometheusAddress = "127.0.0.1:19090"

// prometheus starts Debian's Prometheus, which scrapes the operator, and ends it with the test.
func prometheus(t *testing.T) {
	t.Helper()
	ctx := testContext(t)
	pods, err := cluster.Kubernetes.CoreV1().Pods("sailor-system").List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the operator has no pod: %v", err)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs: [{job_name: sailor, scrape_interval: 500ms, static_configs: [{targets: ['%s:9090']}]}]\n", pods.Items[0].Status.PodIP)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(root, ".deps", "prometheus", "usr", "bin", "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+prometheusAddress, "--log.level=error")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // the process may have ended already
		_ = command.Wait()         // returns an error, because the signal ended the process
	})
}

// query is the value of the only series that a query of Prometheus finds.
func query(ctx context.Context, expression string) (value string, series int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+prometheusAddress+"/api/v1/query?query="+url.QueryEscape(expression), nil)
	if err != nil {
		return "", 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", 0, fmt.Errorf("%w: %s", err, body)
	}
	if len(answer.Data.Result) == 0 {
		return "", 0, nil
	}
	value, _ = answer.Data.Result[0].Value[1].(string)
	return value, len(answer.Data.Result), nil
}

func eventuallyQuery(t *testing.T, expression string, holds func(value string, series int) bool) {
	t.Helper()
	testcluster.Eventually(t, 30*time.Second, expression, func(ctx context.Context) (bool, error) {
		value, series, err := query(ctx, expression)
		return err == nil && holds(value, series), err
	})
}

func TestPrometheusScrapesAJobsMetricsAndTheyGoWithTheJob(t *testing.T) {
	prometheus(t)
	w := start(t, trainingjob.Small{Name: "metrics", Steps: trainingjob.Endless})
	job := w.untilTraining()
	// Prometheus renames the metrics' own label job, because the scrape has one.
	exported := fmt.Sprintf(`{namespace=%q,exported_job=%q}`, w.namespace, w.job)
	positive := func(value string, series int) bool { return series == 1 && trainingjob.Decimal(value) > 0 }
	for _, name := range []string{"sailor_job_step", "sailor_job_loss", "sailor_job_tokens_total", "sailor_job_tokens_per_second",
		"sailor_job_planned_tokens_per_second", "sailor_job_cost_dollars_total", "sailor_job_cost_dollars_per_hour", "sailor_job_goodput_ratio", "sailor_job_generation"} {
		eventuallyQuery(t, name+exported, positive)
	}
	gpus := fmt.Sprint(job.Status.Plan.TotalGPUs)
	eventuallyQuery(t, "sum(sailor_job_gpus"+exported+")", func(value string, _ int) bool { return value == gpus })
	eventuallyQuery(t, `controller_runtime_reconcile_total{result="success"}`, positive)
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		t.Fatal(err)
	}
	eventuallyQuery(t, "sailor_job_step"+exported, func(_ string, series int) bool { return series == 0 })
}
