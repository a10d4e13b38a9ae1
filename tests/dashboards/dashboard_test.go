package dashboards

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
)

func root(t *testing.T) string {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func ofChart(t *testing.T) map[string]Dashboard {
	t.Helper()
	all, err := OfChart(context.Background(), root(t))
	if err != nil || len(all) != 2 {
		t.Fatalf("the chart has %d dashboards: %v", len(all), err)
	}
	return all
}

func overlap(a, b Position) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func TestPanelsFillTheGridWithoutOverlap(t *testing.T) {
	for name, dashboard := range ofChart(t) {
		for i, panel := range dashboard.Panels {
			if at := panel.GridPos; at.X < 0 || at.W < 1 || at.H < 1 || at.X+at.W > 24 {
				t.Errorf("%s: %q is at %+v", name, panel.Title, at)
			}
			for _, other := range dashboard.Panels[:i] {
				if overlap(panel.GridPos, other.GridPos) {
					t.Errorf("%s: %q and %q overlap", name, panel.Title, other.Title)
				}
			}
		}
	}
}

var metricName = regexp.MustCompile(`\b(?:sailor|process|workqueue|rest_client|controller_runtime|leader_election)_\w+`)

func expressions(dashboard Dashboard) (all []string) {
	for _, panel := range dashboard.Panels {
		for _, query := range panel.Targets {
			all = append(all, query.Expr)
		}
	}
	for _, query := range dashboard.Annotations.List {
		all = append(all, query.Expr)
	}
	return all
}

func TestQueriesUseMetricsOfTheDocumentationAndNoLabelOfAScrape(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	ofScrape := regexp.MustCompile(`[{,(](job|namespace|exported_job|exported_namespace|pod|service)\b`)
	for name, dashboard := range ofChart(t) {
		for _, expression := range expressions(dashboard) {
			for _, metric := range metricName.FindAllString(expression, -1) {
				base := strings.TrimSuffix(strings.TrimSuffix(metric, "_sum"), "_count")
				known := strings.Contains(string(text), "`"+base) || strings.HasPrefix(base, "controller_runtime_reconcile_")
				if !known {
					t.Errorf("%s: docs/monitoring.md does not mention %s", name, base)
				}
			}
			if found := ofScrape.FindString(expression); found != "" {
				t.Errorf("%s: %s uses the label %s", name, expression, found[1:])
			}
		}
	}
}

func TestRatesCoverFourScrapes(t *testing.T) {
	now := time.Now()
	view := View{From: now.Add(-6 * time.Hour), To: now, ScrapeInterval: 15 * time.Second, Points: 1000}
	if interval, rate := view.Interval(), view.RateInterval(); interval != 22*time.Second || rate != time.Minute {
		t.Errorf("six hours on 1000 points have the interval %s and the rate interval %s", interval, rate)
	}
	view.From = now.Add(-7 * 24 * time.Hour)
	if rate := view.RateInterval(); rate != view.Interval()+15*time.Second {
		t.Errorf("a week has the rate interval %s", rate)
	}
}

func TestVariablesAreReplacedByTheirValues(t *testing.T) {
	values := map[string]string{"job": "opt", "__rate_interval": "60000ms"}
	if got := interpolate(`rate(x{job_name="$job",other="${job}"}[$__rate_interval]) $unknown`, values); got != `rate(x{job_name="opt",other="opt"}[60000ms]) $unknown` {
		t.Error(got)
	}
	if got := legend("stage {{stage}} {{ part }}", map[string]string{"stage": "1", "part": "forward"}); got != "stage 1 forward" {
		t.Error(got)
	}
}

func TestNumbersAreShort(t *testing.T) {
	for _, c := range []struct {
		value      float64
		unit, text string
	}{
		{0.8765, "percentunit", "87.65%"}, {12.5, "currencyUSD", "$12.5"}, {0.00042, "s", "420 µs"}, {0.25, "s", "250 ms"}, {7200, "s", "2h0m0s"},
		{1234567, "short", "1.23M"}, {45678, "none", "45.7k"}, {3, "none", "3"}, {0, "none", "0"}, {0.0123, "none", "0.0123"},
	} {
		if got := formatted(c.value, c.unit); got != c.text {
			t.Errorf("%v %s is %q, not %q", c.value, c.unit, got, c.text)
		}
	}
}
