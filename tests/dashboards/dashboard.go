// Package dashboards asks a Prometheus the queries of a Grafana dashboard, as Grafana does, and draws the answers. The tests find out
// with it whether every panel shows something, and it shows the dashboards to a user who has no Grafana.
package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Dashboard is the JSON of a dashboard, as far as it says what to ask and how to draw it.
type Dashboard struct {
	JSON        []byte `json:"-"` // all of it, as the chart has it
	UID         string
	Title       string
	Description string
	Panels      []Panel
	Templating  struct{ List []Variable }
	Annotations struct{ List []Query } // their values are the times to mark, in milliseconds
}

// Variable is a drop-down list at the top of a dashboard.
type Variable struct {
	Name       string
	Type       string
	Definition string // of a query variable: label_values(SERIES, LABEL)
	IncludeAll bool
	AllValue   string
}

type Panel struct {
	Type        string // row, stat, timeseries, bargauge or table
	Title       string
	Description string
	GridPos     Position
	Targets     []Query
	Options     struct{ TextMode string }
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Custom struct{ Stacking struct{ Mode string } }
		}
		Overrides []Override
	}
}

// Position is in columns and rows of a grid that is 24 columns wide.
type Position struct{ X, Y, W, H int }

// Override sets the unit of a table's column.
type Override struct {
	Matcher    struct{ Options string }
	Properties []struct {
		ID    string
		Value any
	}
}

type Query struct {
	Expr         string
	LegendFormat string
	Instant      bool
}

func (p Panel) stacks() bool { return p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" }

// OfChart returns the dashboards that the chart installs, by the names of their files.
func OfChart(ctx context.Context, root string) (map[string]Dashboard, error) {
	helm := exec.CommandContext(ctx, filepath.Join(root, "build", "bin", "helm"), "template", "sailor", filepath.Join(root, "charts", "sailor"),
		"--kube-version", "1.34.0", "--set", "metrics.dashboards.enabled=true", "--show-only", "templates/dashboards.yaml")
	var complaint strings.Builder // helm also writes to it what is of no interest if it succeeds
	helm.Stderr = &complaint
	rendered, err := helm.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering the dashboards of the chart: %w\n%s", err, complaint.String())
	}
	files := map[string]Dashboard{}
	for _, document := range strings.Split(string(rendered), "\n---\n") {
		var object corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, fmt.Errorf("reading the dashboards of the chart: %w", err)
		}
		for name, text := range object.Data {
			if files[name], err = parse([]byte(text)); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return files, nil
}

func parse(text []byte) (Dashboard, error) {
	dashboard := Dashboard{JSON: text}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return dashboard, fmt.Errorf("reading a dashboard: %w", err)
	}
	return dashboard, nil
}
