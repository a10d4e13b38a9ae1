package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Prometheus is the address of a Prometheus: http://127.0.0.1:9090.
type Prometheus string

// get calls a function of the API and reads the field data of its answer.
func (p Prometheus) get(ctx context.Context, function string, parameters url.Values, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(p)+"/api/v1/"+function+"?"+parameters.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Data  json.RawMessage `json:"data"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s answers %q: %w", function, body, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s %v: %s", function, parameters, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

func timeText(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
}

// result is a vector or a matrix.
type result struct {
	Result []struct {
		Metric map[string]string `json:"metric"`
		Value  *[2]any           `json:"value"`
		Values [][2]any          `json:"values"`
	} `json:"result"`
}

func (r result) series() ([]Series, error) {
	var all []Series
	for _, found := range r.Result {
		if found.Value != nil {
			found.Values = append(found.Values, *found.Value)
		}
		series := Series{Labels: found.Metric}
		for _, pair := range found.Values {
			seconds, isNumber := pair[0].(float64)
			text, isText := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if !isNumber || !isText || err != nil {
				return nil, fmt.Errorf("%v is no value of a series", pair)
			}
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				series.Points = append(series.Points, Point{time.UnixMilli(int64(seconds * 1000)), value})
			}
		}
		if len(series.Points) > 0 {
			all = append(all, series)
		}
	}
	return all, nil
}

func (p Prometheus) at(ctx context.Context, expression string, at time.Time) ([]Series, error) {
	var found result
	if err := p.get(ctx, "query", url.Values{"query": {expression}, "time": {timeText(at)}}, &found); err != nil {
		return nil, err
	}
	return found.series()
}

func (p Prometheus) over(ctx context.Context, expression string, view View) ([]Series, error) {
	step := view.Interval()
	parameters := url.Values{"query": {expression}, "step": {strconv.FormatFloat(step.Seconds(), 'f', 3, 64)},
		"start": {timeText(view.From.Truncate(step))}, "end": {timeText(view.To.Truncate(step))}}
	var found result
	if err := p.get(ctx, "query_range", parameters, &found); err != nil {
		return nil, err
	}
	return found.series()
}

// labelValues returns the values of a label in ascending order.
func (p Prometheus) labelValues(ctx context.Context, series, label string, view View) ([]string, error) {
	var found []map[string]string
	parameters := url.Values{"match[]": {series}, "start": {timeText(view.From)}, "end": {timeText(view.To)}}
	if err := p.get(ctx, "series", parameters, &found); err != nil {
		return nil, err
	}
	values := map[string]bool{}
	for _, labels := range found {
		if value := labels[label]; value != "" {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values)), nil
}

// Value returns the value that an expression has now, and how many series it has.
func (p Prometheus) Value(ctx context.Context, expression string) (value float64, series int, err error) {
	found, err := p.at(ctx, expression, time.Now())
	if err != nil || len(found) == 0 {
		return 0, 0, err
	}
	return found[0].Points[0].Value, len(found), nil
}
