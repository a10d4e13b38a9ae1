package dashboards

import (
	"context"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Write writes the chart's dashboards into a folder: each as JSON to import into Grafana, and with its data as a picture and as a page.
func Write(ctx context.Context, root, folder string, prometheus Prometheus, view View) error {
	all, err := OfChart(ctx, root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		dashboard := all[name]
		answer, err := Ask(ctx, prometheus, dashboard, view)
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", dashboard.Title, err)
		}
		picture := Draw(answer)
		base := filepath.Join(folder, strings.TrimSuffix(name, ".json"))
		for file, text := range map[string]string{base + ".json": string(dashboard.JSON), base + ".svg": picture, base + ".html": page(dashboard, picture, names)} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// page shows a picture as wide as the window, with links to the other dashboards.
func page(dashboard Dashboard, picture string, names []string) string {
	var links strings.Builder
	for _, name := range names {
		base := strings.TrimSuffix(name, ".json")
		fmt.Fprintf(&links, `<a href="%s.html">%s</a> <a href="%s">JSON</a> `, base, base, name)
	}
	return fmt.Sprintf(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>%s</title>
<style>:root{color-scheme:light dark}body{margin:0;font:14px system-ui,sans-serif}nav{padding:8px 16px}svg{width:100%%;height:auto;display:block}</style></head>
<body><nav>%s</nav>%s</body></html>
`, html.EscapeString(dashboard.Title), links.String(), picture)
}
