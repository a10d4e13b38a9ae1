package dashboards

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Sizes in pixels.
const (
	columnWidth = 60
	rowHeight   = 34
	gap         = 8
	padding     = 10
	titleHeight = 22
	lineHeight  = 15
	letterWidth = 6.4 // of text of 11 pixels, on average
)

var colors = []string{"#3274d9", "#e0752d", "#37872d", "#8f3bb8", "#c4162a", "#d9a300", "#0a7c8c", "#b0468a", "#6b7a8f", "#7a5c2e"}

func color(i int) string { return colors[i%len(colors)] }

// box is a rectangle of the picture.
type box struct{ x, y, w, h float64 }

func (b box) inside() box {
	return box{b.x + padding, b.y + titleHeight + 6, b.w - 2*padding, b.h - titleHeight - 6 - padding}
}

type picture struct{ strings.Builder }

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

func (p *picture) text(x, y float64, class, text string) {
	p.add(`<text x="%.0f" y="%.0f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

// shortened keeps the beginning of a text that is too wide.
func shortened(text string, width float64) string {
	runes := []rune(text)
	if fits := max(1, int(width/letterWidth)); len(runes) > fits {
		return string(runes[:fits-1]) + "…"
	}
	return text
}

const style = `<style>
.back{fill:#f4f5f5}.panel{fill:#fff;stroke:#d9dce0}text{font-family:system-ui,sans-serif;font-size:11px;fill:#24292e}
.title{font-size:12px;font-weight:600}.row{font-size:14px;font-weight:600}.big{font-size:26px;font-weight:500;text-anchor:middle}
.head{font-size:18px;font-weight:600}.small{fill:#5a6270}.right{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#e4e6e9}.mark{stroke:#ff9830;stroke-dasharray:3 3}
.line{fill:none;stroke-width:1.5}
@media(prefers-color-scheme:dark){.back{fill:#111217}.panel{fill:#181b1f;stroke:#2c3037}text{fill:#d8d9da}.small{fill:#9aa0aa}.grid{stroke:#2c3037}}
</style>`

// Draw draws a dashboard with its data as an SVG, in the colors that the reader prefers.
func Draw(answer Answer) string {
	const head = 44
	width, height := float64(24*columnWidth+2*gap), float64(head)
	for _, panel := range answer.Panels {
		height = max(height, head+float64((panel.Panel.GridPos.Y+panel.Panel.GridPos.H)*rowHeight)+gap)
	}
	var p picture
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, width, height, html.EscapeString(answer.Dashboard.Title))
	p.add("%s", style)
	p.add(`<rect class="back" width="100%%" height="100%%"/>`)
	p.text(2*gap, 28, "head", answer.Dashboard.Title)
	p.text(width-2*gap, 28, "small right", describeView(answer))
	for _, panel := range answer.Panels {
		at := panel.Panel.GridPos
		p.panel(answer, panel, box{float64(at.X*columnWidth) + 1.5*gap, head + float64(at.Y*rowHeight), float64(at.W*columnWidth) - gap, float64(at.H*rowHeight) - gap})
	}
	p.add("</svg>")
	return p.String()
}

func describeView(answer Answer) string {
	var chosen []string
	for _, variable := range answer.Dashboard.Templating.List {
		if value := answer.Variables[variable.Name]; value != "" && value != variable.AllValue {
			chosen = append(chosen, variable.Name+" = "+value)
		}
	}
	view := answer.View
	return strings.Join(append(chosen, view.From.UTC().Format("2006-01-02 15:04:05")+" to "+view.To.UTC().Format("15:04:05")+" UTC"), ", ")
}

func (p *picture) panel(answer Answer, panel PanelAnswer, b box) {
	if panel.Panel.Type == "row" {
		p.text(b.x, b.y+b.h-4, "row", panel.Panel.Title)
		return
	}
	p.add(`<g><title>%s</title><rect class="panel" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="3"/>`,
		html.EscapeString(panel.Panel.Description), b.x, b.y, b.w, b.h)
	p.text(b.x+padding, b.y+17, "title", shortened(panel.Panel.Title, b.w-2*padding))
	switch {
	case panel.isEmpty():
		p.text(b.x+b.w/2, b.y+b.h/2+8, "small middle", "No data")
	case panel.Panel.Type == "stat":
		p.stat(panel, b)
	case panel.Panel.Type == "bargauge":
		p.bars(panel, b.inside())
	case panel.Panel.Type == "table":
		p.table(panel, b.inside())
	default:
		p.chart(answer, panel, b.inside())
	}
	p.add("</g>")
}

func (a PanelAnswer) isEmpty() bool {
	return !slices.ContainsFunc(a.Queries, func(query QueryAnswer) bool { return len(query.Series) > 0 })
}

func (a PanelAnswer) series() (all []Series) {
	for _, query := range a.Queries {
		all = append(all, query.Series...)
	}
	return all
}

func last(series Series) float64 { return series.Points[len(series.Points)-1].Value }

func (p *picture) stat(panel PanelAnswer, b box) {
	first := panel.series()[0]
	text := formatted(last(first), panel.Panel.FieldConfig.Defaults.Unit)
	if panel.Panel.Options.TextMode == "name" {
		text = first.Legend
	}
	p.text(b.x+b.w/2, b.y+titleHeight+(b.h-titleHeight)/2+8, "big", text)
}

func (p *picture) bars(panel PanelAnswer, b box) {
	all := panel.series()
	most := 0.0
	for _, series := range all {
		most = max(most, last(series))
	}
	pitch := min(34, b.h/float64(len(all)))
	for i, series := range all {
		y := b.y + float64(i)*pitch
		p.text(b.x, y+12, "", shortened(series.Legend, 100))
		width := 0.0
		if most > 0 {
			width = (b.w - 190) * last(series) / most
		}
		p.add(`<rect x="%.0f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`, b.x+110, y+2, width, max(4, pitch-8), color(i))
		p.text(b.x+b.w, y+12, "right", formatted(last(series), panel.Panel.FieldConfig.Defaults.Unit))
	}
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }
