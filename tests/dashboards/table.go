package dashboards

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// table joins its queries by the labels job_namespace and job_name. The first query only says which jobs there are, and their state.
func (p *picture) table(panel PanelAnswer, b box) {
	rows := map[string]map[string]string{}
	columns := []string{"Namespace", "Job", "State"}
	for i, query := range panel.Queries {
		if i > 0 {
			columns = append(columns, query.Query.LegendFormat)
		}
		for _, series := range query.Series {
			key := series.Labels["job_namespace"] + "/" + series.Labels["job_name"]
			if i == 0 {
				rows[key] = map[string]string{"Namespace": series.Labels["job_namespace"], "Job": series.Labels["job_name"], "State": series.Labels["state"]}
			} else if row := rows[key]; row != nil {
				row[query.Query.LegendFormat] = formatted(last(series), unitOf(panel.Panel, query.Query.LegendFormat))
			}
		}
	}
	width := b.w / float64(len(columns))
	line := func(y float64, class string, cell func(column string) string) {
		for i, column := range columns {
			p.text(b.x+float64(i)*width, y, class, shortened(cell(column), width-6))
		}
	}
	line(b.y+12, "title", func(column string) string { return column })
	for i, key := range slices.Sorted(maps.Keys(rows)) {
		line(b.y+34+20*float64(i), "", func(column string) string { return rows[key][column] })
	}
}

func unitOf(panel Panel, column string) string {
	for _, override := range panel.FieldConfig.Overrides {
		if override.Matcher.Options == column && len(override.Properties) > 0 {
			return fmt.Sprint(override.Properties[0].Value)
		}
	}
	return panel.FieldConfig.Defaults.Unit
}

const mebibyte = 1 << 20

// formatted writes a value in one of Grafana's units.
func formatted(value float64, unit string) string {
	switch unit {
	case "percentunit":
		return number(100*value) + "%"
	case "currencyUSD":
		return "$" + number(value)
	case "s":
		return seconds(value)
	case "bytes":
		return number(value/mebibyte) + " MiB"
	case "reqps":
		return number(value) + "/s"
	}
	return number(value)
}

func seconds(value float64) string {
	switch {
	case value == 0:
		return "0 s"
	case value < 1e-3:
		return number(value*1e6) + " µs"
	case value < 1:
		return number(value*1e3) + " ms"
	case value < 120:
		return number(value) + " s"
	}
	return (time.Duration(value) * time.Second).String()
}

// number writes three or more digits, and thousands and millions with their letters.
func number(value float64) string {
	size := math.Abs(value)
	switch {
	case size >= 1e6:
		return trimmed(value/1e6, 2) + "M"
	case size >= 1e4:
		return trimmed(value/1e3, 1) + "k"
	case size >= 100:
		return trimmed(value, 0)
	case size >= 1:
		return trimmed(value, 2)
	case size == 0:
		return "0"
	}
	return trimmed(value, 2+int(-math.Floor(math.Log10(size))))
}

func trimmed(value float64, digits int) string {
	text := fmt.Sprintf("%.*f", min(digits, 9), value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
