package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/dashboards"
	"sailor.dev/tests/trainingjob"
)

const scrapeInterval = 500 * time.Millisecond

// withLimits gives the job what some panels are about.
const withLimits = `  objective: {type: MaxThroughput, maxCostPerIteration: "1", maxCostPerHour: "100"}
`

// operatorMetrics returns the address of the operator's metrics.
func operatorMetrics(t *testing.T) string {
	t.Helper()
	pods, err := cluster.Kubernetes.CoreV1().Pods("sailor-system").List(testContext(t), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the operator has no pod: %v", err)
	}
	return pods.Items[0].Status.PodIP + ":9090"
}

// prometheus starts Debian's Prometheus, which scrapes the operator, and ends it with the test.
func prometheus(t *testing.T) dashboards.Prometheus {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	server, err := dashboards.Serve(context.Background(), root, t.TempDir(), operatorMetrics(t), 19090, scrapeInterval)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.Prometheus
}

// Without an evaluation the job has no validation loss.
var mayBeEmpty = map[string]bool{"Loss: validation": true}

// The first plan, and the one without the lost node.
const plansOfTest = 2

// emptyQueries returns the queries of dashboards that have no result.
func emptyQueries(ctx context.Context, prometheus dashboards.Prometheus, all map[string]dashboards.Dashboard, view dashboards.View) (empty []string, err error) {
	for _, dashboard := range all {
		answer, err := dashboards.Ask(ctx, prometheus, dashboard, view)
		if err != nil {
			return nil, err
		}
		if len(dashboard.Annotations.List) > 0 && len(answer.Marks) < plansOfTest {
			empty = append(empty, fmt.Sprintf("%s: annotations mark %v", dashboard.Title, answer.Marks))
		}
		empty = append(empty, emptyPanels(answer)...)
	}
	return empty, nil
}

func emptyPanels(answer dashboards.Answer) (empty []string) {
	for _, panel := range answer.Panels {
		for _, query := range panel.Queries {
			name := panel.Panel.Title + ": " + query.Query.LegendFormat
			if len(query.Series) == 0 && !mayBeEmpty[name] {
				empty = append(empty, name+": "+query.Expr)
			}
		}
	}
	return empty
}

func TestEveryPanelOfTheDashboardsShowsAJobThatLosesANode(t *testing.T) {
	began := time.Now()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	all, err := dashboards.OfChart(testContext(t), root)
	if err != nil {
		t.Fatal(err)
	}
	prometheus := prometheus(t)
	w := start(t, trainingjob.Small{Name: "dashboards", Steps: trainingjob.Endless, Checkpoint: t.TempDir(), Extra: withLimits})
	first := w.untilTraining()
	testcluster.Eventually(t, oneChange, "the first plan to be scraped", func(ctx context.Context) (bool, error) {
		generation, _, err := prometheus.Value(ctx, fmt.Sprintf("sailor_job_generation{job_namespace=%q,job_name=%q}", w.namespace, w.job))
		return generation == float64(first.Status.Plan.Generation), err
	})
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), 15*time.Second); err != nil {
		t.Fatal(err)
	}
	w.until("the job to train without the node", func(job trainingjob.Job) bool {
		return job.Status.Plan.Generation > first.Status.Plan.Generation && job.Is("Running") && !job.Is("Rescaling")
	})
	chosen := map[string]string{"namespace": w.namespace, "job": w.job}
	testcluster.Eventually(t, oneChange, "every panel to show something", func(ctx context.Context) (bool, error) {
		view := dashboards.View{From: began, To: time.Now(), ScrapeInterval: scrapeInterval, Points: 200, Values: chosen}
		empty, err := emptyQueries(ctx, prometheus, all, view)
		if err == nil && len(empty) > 0 {
			err = fmt.Errorf("without a result: %s", strings.Join(empty, "\n"))
		}
		return err == nil, err
	})
}

// Two steps in flight are in neither, and one more may end between two looks at the job.
func TestUsefulAndLostSecondsAddUpToTheTimeOfTheJob(t *testing.T) {
	const tokensInFlight = 3 * 16 * 64
	prometheus := prometheus(t)
	w := start(t, trainingjob.Small{Name: "lost-time", Steps: trainingjob.Endless})
	w.untilTraining()
	of := func(metric string) string {
		return fmt.Sprintf("sum(sailor_job_%s{job_namespace=%q,job_name=%q})", metric, w.namespace, w.job)
	}
	testcluster.Eventually(t, oneChange, "twenty seconds of training", func(ctx context.Context) (bool, error) {
		useful, _, err := prometheus.Value(ctx, of("useful_seconds_total"))
		return useful > 20, err
	})
	elapsed := of("useful_seconds_total") + " / " + of("goodput_ratio")
	missing := fmt.Sprintf("%s - %s - %s", elapsed, of("useful_seconds_total"), of("lost_seconds_total"))
	allowed := fmt.Sprintf("0.02 * %s + %d / %s", elapsed, tokensInFlight, of("tokens_per_second"))
	value, series, err := prometheus.Value(w.ctx, fmt.Sprintf("(%s) / (%s)", missing, allowed))
	if err != nil || series != 1 || value < -1 || value > 1 {
		t.Errorf("useful and lost seconds miss the elapsed ones by %v times of what is allowed: %v", value, err)
	}
}

func TestTheOperatorsMetricsFollowTheConventions(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "conventions", Steps: trainingjob.Endless})
	w.untilTraining()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(w.ctx, "sh", "-c", "curl -sS --fail http://"+operatorMetrics(t)+"/metrics | "+
		filepath.Join(root, ".deps", "prometheus", "usr", "bin", "promtool")+" check metrics")
	if output, err := check.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, output)
	}
}
