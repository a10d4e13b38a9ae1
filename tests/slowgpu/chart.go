package slowgpu

import (
	"fmt"
	"math"
	"strings"
	"time"

	"sailor.dev/tests/trainingjob"
)

// The size of the picture and of the margins around the steps, in pixels.
const (
	width, height       = 860.0, 340.0
	left, right         = 62.0, 20.0
	top, bottom         = 56.0, 46.0
	longestText         = 150.0 // the width of the longest mark
	heightOfText        = 15.0
	colorOfSteps        = "#1f6feb"
	colorOfMarks        = "#b35900"
	colorOfText         = "#24292f"
	colorOfGuides       = "#8c959f"
	secondsBetweenTicks = 20.0
)

// Chart draws how long each step took, as an SVG.
func Chart(c Case, r Result) string {
	bars := stepsOf(r.Steps)
	if len(bars) == 0 {
		return ""
	}
	chart := chart{zero: bars[0].from, seconds: bars[len(bars)-1].to.Sub(bars[0].from).Seconds()}
	for _, bar := range bars {
		chart.longest = max(chart.longest, bar.seconds)
	}
	chart.longest = math.Ceil(chart.longest*1.05*2) / 2
	chart.begin(fmt.Sprintf("One of %d equal GPUs takes %g times as long for a while", c.Workers, c.Factor))
	chart.axes()
	chart.guide(r.Usual, "usual step")
	chart.guide(c.Bound(r.Usual), "shortest step that the speeds allow")
	for _, bar := range bars {
		chart.bar(bar)
	}
	for i, mark := range r.Marks {
		chart.mark(mark, i%2)
	}
	chart.out.WriteString("</svg>\n")
	return chart.out.String()
}

// bar is a time in which steps took this long each.
type bar struct {
	from, to time.Time
	seconds  float64
}

func stepsOf(samples []trainingjob.Sample) (bars []bar) {
	for i := 1; i < len(samples); i++ {
		before, now := samples[i-1], samples[i]
		if steps := now.Step - before.Step; steps > 0 {
			bars = append(bars, bar{before.Time, now.Time, now.Time.Sub(before.Time).Seconds() / float64(steps)})
		}
	}
	return bars
}

type chart struct {
	out     strings.Builder
	zero    time.Time
	seconds float64 // the length of the time axis
	longest float64 // the length of the other one, in seconds too
}

func (c *chart) x(t time.Time) float64 {
	return left + t.Sub(c.zero).Seconds()/c.seconds*(width-left-right)
}

func (c *chart) y(seconds float64) float64 {
	return height - bottom - seconds/c.longest*(height-top-bottom)
}

func (c *chart) begin(title string) {
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="sans-serif" font-size="12">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, width, height, width, height, title)
}

func (c *chart) line(x1, y1, x2, y2 float64, color, dashes string) {
	fmt.Fprintf(&c.out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="%s"/>`+"\n", x1, y1, x2, y2, color, dashes)
}

func (c *chart) text(x, y float64, anchor, color, text string) {
	fmt.Fprintf(&c.out, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, color, text)
}

func (c *chart) axes() {
	c.line(left, height-bottom, width-right, height-bottom, colorOfText, "none")
	c.line(left, top, left, height-bottom, colorOfText, "none")
	c.text((left+width)/2, height-8, "middle", colorOfText, "seconds since the first step shown")
	fmt.Fprintf(&c.out, `<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle" fill="%s">seconds of a step</text>`+"\n", (top+height-bottom)/2, colorOfText)
	for at := 0.0; at <= c.seconds; at += secondsBetweenTicks {
		x := left + at/c.seconds*(width-left-right)
		c.line(x, height-bottom, x, height-bottom+4, colorOfText, "none")
		c.text(x, height-bottom+18, "middle", colorOfText, fmt.Sprintf("%.0f", at))
	}
	for at := 0.0; at <= c.longest; at += math.Max(0.5, math.Ceil(c.longest/6)) {
		c.line(left-4, c.y(at), left, c.y(at), colorOfText, "none")
		c.text(left-8, c.y(at)+4, "end", colorOfText, fmt.Sprintf("%g", at))
	}
}

// guide is a line across the picture at the length of a step.
func (c *chart) guide(length time.Duration, text string) {
	y := c.y(length.Seconds())
	c.line(left, y, width-right, y, colorOfGuides, "5 4")
	c.text(width-right, y-4, "end", colorOfGuides, text)
}

func (c *chart) bar(b bar) {
	fmt.Fprintf(&c.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="0.25" stroke="%s" stroke-width="0.6"/>`+"\n",
		c.x(b.from), c.y(b.seconds), c.x(b.to)-c.x(b.from), height-bottom-c.y(b.seconds), colorOfSteps, colorOfSteps)
}

// mark is a line from top to bottom with a text in one of two rows.
func (c *chart) mark(m Mark, row int) {
	x, y := c.x(m.Time), top-8-heightOfText*float64(row)
	c.line(x, y, x, height-bottom, colorOfMarks, "none")
	if x+longestText > width-right {
		c.text(x-4, y+4, "end", colorOfMarks, m.Text)
	} else {
		c.text(x+4, y+4, "start", colorOfMarks, m.Text)
	}
}
