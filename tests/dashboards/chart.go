package dashboards

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// chart draws lines over time, or areas on top of each other, with a legend below.
func (p *picture) chart(answer Answer, panel PanelAnswer, b box) {
	all := panel.series()
	plot := box{b.x + 52, b.y, b.w - 56, b.h - p.legend(all, b) - 20}
	top := ceilingOf(highest(all, panel.Panel.stacks()), panel.Panel.FieldConfig.Defaults.Unit)
	p.axes(answer.View, top, panel.Panel.FieldConfig.Defaults.Unit, plot)
	scale := scale{answer.View.From, answer.View.To, top, plot}
	if panel.Panel.stacks() {
		p.areas(all, scale, answer.View.Interval())
	} else {
		for i, series := range all {
			for _, part := range unbroken(series.Points, answer.View.Interval()) {
				p.add(`<path class="line" stroke="%s" d="%s"/>`, color(i), path(part, scale))
			}
		}
	}
	for _, mark := range answer.Marks {
		x := scale.x(mark)
		p.add(`<line class="mark" x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f"/>`, x, x, plot.y, plot.y+plot.h)
	}
}

// legend returns the height that it takes.
func (p *picture) legend(all []Series, b box) float64 {
	type entry struct {
		x     float64
		line  int
		text  string
		color string
	}
	var entries []entry
	x, line := b.x, 0
	for i, series := range all {
		text := shortened(series.Legend, b.w-30)
		width := float64(len([]rune(text)))*letterWidth + 26
		if x+width > b.x+b.w && x > b.x {
			x, line = b.x, line+1
		}
		entries = append(entries, entry{x, line, text, color(i)})
		x += width
	}
	height := float64(line+1) * lineHeight
	for _, e := range entries {
		y := b.y + b.h - height + float64(e.line+1)*lineHeight - 3
		p.add(`<rect x="%.0f" y="%.0f" width="10" height="4" fill="%s"/>`, e.x, y-5, e.color)
		p.text(e.x+14, y, "", e.text)
	}
	return height
}

type scale struct {
	from, to time.Time
	top      float64
	plot     box
}

func (s scale) x(at time.Time) float64 {
	share := at.Sub(s.from).Seconds() / s.to.Sub(s.from).Seconds()
	return s.plot.x + s.plot.w*min(1, max(0, share))
}

func (s scale) y(value float64) float64 {
	return s.plot.y + s.plot.h*(1-min(1, max(0, value/s.top)))
}

func (p *picture) axes(view View, top float64, unit string, plot box) {
	const lines = 4
	for i := 0; i <= lines; i++ {
		value := top * float64(i) / lines
		y := plot.y + plot.h*(1-float64(i)/lines)
		p.add(`<line class="grid" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/>`, plot.x, plot.x+plot.w, y, y)
		p.text(plot.x-5, y+4, "small right", formatted(value, unit))
	}
	for i := range 3 {
		at := view.From.Add(view.To.Sub(view.From) * time.Duration(i) / 2)
		class := []string{"small", "small middle", "small right"}[i]
		p.text(plot.x+plot.w*float64(i)/2, plot.y+plot.h+14, class, clock(at))
	}
}

// unbroken splits points where one or more are missing.
func unbroken(points []Point, step time.Duration) (parts [][]Point) {
	for i, point := range points {
		if i == 0 || point.Time.Sub(points[i-1].Time) > step*3/2 {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], point)
	}
	return parts
}

// path leaves out points on a level line between their neighbours.
func path(points []Point, s scale) string {
	var d strings.Builder
	for i, point := range points {
		if i > 0 && i < len(points)-1 && points[i-1].Value == point.Value && points[i+1].Value == point.Value {
			continue
		}
		fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], s.x(point.Time), s.y(point.Value))
	}
	if len(points) == 1 { // a line needs a length to be seen
		d.WriteString("h2")
	}
	return d.String()
}

// stacked adds each series to those before it. A missing point counts as 0.
func stacked(all []Series) (times []time.Time, sums [][]float64) {
	moments := map[time.Time]bool{}
	for _, series := range all {
		for _, point := range series.Points {
			moments[point.Time] = true
		}
	}
	times = slices.SortedFunc(maps.Keys(moments), time.Time.Compare)
	below := make([]float64, len(times))
	for _, series := range all {
		values := map[time.Time]float64{}
		for _, point := range series.Points {
			values[point.Time] = point.Value
		}
		sum := slices.Clone(below)
		for i, at := range times {
			sum[i] += values[at]
		}
		sums = append(sums, sum)
		below = sum
	}
	return times, sums
}

func (p *picture) areas(all []Series, s scale, step time.Duration) {
	times, sums := stacked(all)
	for i := len(sums) - 1; i >= 0; i-- { // each area hides the lower part of the one behind it
		points := make([]Point, len(times))
		for j, at := range times {
			points[j] = Point{at, sums[i][j]}
		}
		for _, part := range unbroken(points, step) {
			p.add(`<path fill="%s" d="%sL%.1f %.1fL%.1f %.1fZ"/>`, color(i), path(part, s),
				s.x(part[len(part)-1].Time), s.y(0), s.x(part[0].Time), s.y(0))
		}
	}
}

func highest(all []Series, stacks bool) float64 {
	most := 0.0
	if stacks {
		_, sums := stacked(all)
		return max(most, slices.Max(sums[len(sums)-1]))
	}
	for _, series := range all {
		for _, point := range series.Points {
			most = max(most, point.Value)
		}
	}
	return most
}

func ceilingOf(value float64, unit string) float64 {
	if unit == "bytes" {
		return niceCeiling(value/mebibyte) * mebibyte
	}
	return niceCeiling(value)
}

// niceCeiling returns a number with one or two digits that is at least as high.
func niceCeiling(value float64) float64 {
	if value <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, factor := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10} {
		if value <= factor*unit*1.0000001 {
			return factor * unit
		}
	}
	return 10 * unit
}
