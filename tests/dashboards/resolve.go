package dashboards

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// View is what a user looks at: a range of time, on a screen of a certain width, with values chosen for variables.
type View struct {
	From, To       time.Time
	ScrapeInterval time.Duration     // the setting "Scrape interval" of the data source
	Points         int               // at most this many points are asked for, as a panel has pixels
	Values         map[string]string // variables without a value get their first one, or all
}

// Interval is $__interval, which is also the step of a query.
func (v View) Interval() time.Duration {
	seconds := math.Ceil(v.To.Sub(v.From).Seconds() / float64(v.Points))
	return max(time.Duration(seconds)*time.Second, v.ScrapeInterval)
}

// RateInterval is $__rate_interval: a rate over it has four samples at least.
func (v View) RateInterval() time.Duration {
	return max(v.Interval()+v.ScrapeInterval, 4*v.ScrapeInterval)
}

// promql writes a duration as PromQL reads it, which knows no fractions.
func promql(duration time.Duration) string { return fmt.Sprintf("%dms", duration.Milliseconds()) }

// Answer is a dashboard with its data.
type Answer struct {
	Dashboard Dashboard
	View      View
	Variables map[string]string
	Panels    []PanelAnswer
	Marks     []time.Time // the annotations
}

type PanelAnswer struct {
	Panel   Panel
	Queries []QueryAnswer
}

type QueryAnswer struct {
	Query  Query
	Expr   string // with the values of variables
	Series []Series
}

// Series has the values of one series; those of an instant query are a single one.
type Series struct {
	Labels map[string]string
	Legend string
	Points []Point
}

type Point struct {
	Time  time.Time
	Value float64
}

// Ask asks all queries of a dashboard.
func Ask(ctx context.Context, prometheus Prometheus, dashboard Dashboard, view View) (Answer, error) {
	answer := Answer{Dashboard: dashboard, View: view}
	var err error
	if answer.Variables, err = variables(ctx, prometheus, dashboard, view); err != nil {
		return answer, err
	}
	for _, panel := range dashboard.Panels {
		panelAnswer := PanelAnswer{Panel: panel}
		for _, query := range panel.Targets {
			asked, err := ask(ctx, prometheus, query, view, answer.Variables)
			if err != nil {
				return answer, fmt.Errorf("panel %q: %w", panel.Title, err)
			}
			panelAnswer.Queries = append(panelAnswer.Queries, asked)
		}
		answer.Panels = append(answer.Panels, panelAnswer)
	}
	answer.Marks, err = marks(ctx, prometheus, dashboard, view, answer.Variables)
	return answer, err
}

func ask(ctx context.Context, prometheus Prometheus, query Query, view View, values map[string]string) (QueryAnswer, error) {
	asked := QueryAnswer{Query: query, Expr: interpolate(query.Expr, values)}
	var err error
	if query.Instant {
		asked.Series, err = prometheus.at(ctx, asked.Expr, view.To)
	} else {
		asked.Series, err = prometheus.over(ctx, asked.Expr, view)
	}
	for i := range asked.Series {
		asked.Series[i].Legend = legend(query.LegendFormat, asked.Series[i].Labels)
	}
	slices.SortStableFunc(asked.Series, func(a, b Series) int { return strings.Compare(a.Legend, b.Legend) })
	return asked, err
}

// marks returns the times in view that the annotations mark.
func marks(ctx context.Context, prometheus Prometheus, dashboard Dashboard, view View, values map[string]string) ([]time.Time, error) {
	found := map[int64]bool{}
	for _, query := range dashboard.Annotations.List {
		asked, err := ask(ctx, prometheus, query, view, values)
		if err != nil {
			return nil, fmt.Errorf("annotation: %w", err)
		}
		for _, series := range asked.Series {
			for _, point := range series.Points {
				if at := time.UnixMilli(int64(point.Value)); !at.Before(view.From) && !at.After(view.To) {
					found[at.UnixMilli()] = true
				}
			}
		}
	}
	var times []time.Time
	for _, milliseconds := range slices.Sorted(maps.Keys(found)) {
		times = append(times, time.UnixMilli(milliseconds))
	}
	return times, nil
}

var labelValues = regexp.MustCompile(`^label_values\((.*), *(\w+)\)$`)

// variables chooses a value for each variable, in their order, because a later one may depend on an earlier one.
func variables(ctx context.Context, prometheus Prometheus, dashboard Dashboard, view View) (map[string]string, error) {
	values := map[string]string{
		"__interval": promql(view.Interval()), "__rate_interval": promql(view.RateInterval()), "__range": promql(view.To.Sub(view.From)),
	}
	maps.Copy(values, view.Values)
	for _, variable := range dashboard.Templating.List {
		if _, chosen := values[variable.Name]; chosen || variable.Type != "query" {
			continue
		}
		if variable.IncludeAll {
			values[variable.Name] = variable.AllValue
			continue
		}
		parts := labelValues.FindStringSubmatch(variable.Definition)
		if parts == nil {
			return nil, fmt.Errorf("variable %s: %q is no label_values(SERIES, LABEL)", variable.Name, variable.Definition)
		}
		found, err := prometheus.labelValues(ctx, interpolate(parts[1], values), parts[2], view)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
		}
		if len(found) > 0 {
			values[variable.Name] = found[0]
		}
	}
	return values, nil
}

var variableName = regexp.MustCompile(`\$(\w+)|\$\{(\w+)\}`)

// interpolate leaves variables that it does not know as they are.
func interpolate(text string, values map[string]string) string {
	return variableName.ReplaceAllStringFunc(text, func(name string) string {
		if value, known := values[strings.Trim(name, "${}")]; known {
			return value
		}
		return name
	})
}

var legendLabel = regexp.MustCompile(`\{\{ *(\w+) *\}\}`)

func legend(format string, labels map[string]string) string {
	if format == "__auto" {
		return strings.Join(slices.Sorted(maps.Values(labels)), " ")
	}
	return legendLabel.ReplaceAllStringFunc(format, func(label string) string {
		return labels[strings.Trim(label, "{} ")]
	})
}
