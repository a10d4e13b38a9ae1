package e2e

import (
	"context"
	"fmt"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/dashboards"
	"sailor.dev/tests/trainingjob"
)

func eventuallyQuery(t *testing.T, prometheus dashboards.Prometheus, expression string, holds func(value float64, series int) bool) {
	t.Helper()
	testcluster.Eventually(t, oneChange, expression, func(ctx context.Context) (bool, error) {
		value, series, err := prometheus.Value(ctx, expression)
		return err == nil && holds(value, series), err
	})
}

func TestPrometheusScrapesAJobsMetricsAndTheyGoWithTheJob(t *testing.T) {
	prometheus := prometheus(t)
	w := start(t, trainingjob.Small{Name: "metrics", Steps: trainingjob.Endless})
	job := w.untilTraining()
	ofJob := fmt.Sprintf(`{job_namespace=%q,job_name=%q}`, w.namespace, w.job)
	positive := func(value float64, series int) bool { return series == 1 && value > 0 }
	for _, name := range []string{"sailor_job_step", "sailor_job_loss", "sailor_job_tokens_total", "sailor_job_tokens_per_second",
		"sailor_job_planned_tokens_per_second", "sailor_job_cost_dollars_per_hour", "sailor_job_goodput_ratio", "sailor_job_generation"} {
		eventuallyQuery(t, prometheus, name+ofJob, positive)
	}
	// Prometheus renames the labels job and namespace, because the scrape has labels of these names.
	eventuallyQuery(t, prometheus, fmt.Sprintf(`sailor_job_step{exported_namespace=%q,exported_job=%q}`, w.namespace, w.job), positive)
	eventuallyQuery(t, prometheus, "sum(sailor_job_cost_dollars_total"+ofJob+")", positive)
	eventuallyQuery(t, prometheus, "sum(sailor_job_gpus"+ofJob+")", func(value float64, _ int) bool { return value == float64(job.Status.Plan.TotalGPUs) })
	eventuallyQuery(t, prometheus, `controller_runtime_reconcile_total{result="success"}`, positive)
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		t.Fatal(err)
	}
	eventuallyQuery(t, prometheus, "sailor_job_step"+ofJob, func(_ float64, series int) bool { return series == 0 })
}
