// Package plot draws bar charts as SVG, by hand: a chart is some groups of bars
// with a whisker each, and needs nothing but text.
package plot

import (
	"fmt"
	"html/template"
	"io"
	"math"
)

// Chart is a bar chart with horizontal bars.
type Chart struct {
	Title  string
	Unit   string // under the axis
	Note   string // small, at the bottom
	Series []string
	Groups []Group
}

// Group is some bars under one label.
type Group struct {
	Label string
	Bars  []Bar
}

// Bar is one value with the lowest and highest of the rounds.
type Bar struct {
	Series           int // index in Chart.Series
	Value, Low, High float64
	Text             string // beside the bar
}

// Measures, in pixels.
const (
	width     = 860
	left      = 230 // of the bars: labels fit before it
	right     = 130 // kept for the text beside a bar
	barHigh   = 15
	barGap    = 3
	groupGap  = 16
	headHigh  = 64
	axisHigh  = 62
	textRaise = 4 // from a bar's middle down to the base line of its text
)

// colors go with the series, in order; they differ for colour-blind eyes, too.
var colors = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"}

// Draw writes the chart. Groups and bars keep their order; a bar whose value is
// no number is left out.
func Draw(out io.Writer, c Chart) error { return page.Execute(out, layout(c)) }

type drawing struct {
	Chart
	Width, Height, Bottom, NoteY int
	Legend                       []mark
	Labels                       []label
	Bars                         []rect
	Ticks                        []label
}

type mark struct {
	X     int
	Color string
	Name  string
}

type label struct {
	X, Y float64
	Text string
}

type rect struct {
	X, Y, W, H, Middle float64
	Low, High          float64 // of the whisker, as X; equal for none
	Color, Text        string
	TextX, TextY       float64
}

func layout(c Chart) drawing {
	step := tickStep(highest(c))
	top := math.Max(step, math.Ceil(highest(c)/step)*step)
	x := func(v float64) float64 { return left + math.Max(v, 0)/top*(width-left-right) }
	d := drawing{Chart: c, Width: width}
	for i, name := range c.Series {
		d.Legend = append(d.Legend, mark{X: 16 + i*110, Color: color(i), Name: name})
	}
	y := float64(headHigh)
	for _, g := range c.Groups {
		from := y
		for _, b := range g.Bars {
			if math.IsNaN(b.Value) || math.IsInf(b.Value, 0) {
				continue
			}
			d.Bars = append(d.Bars, rect{
				X: left, Y: y, W: x(b.Value) - left, H: barHigh, Middle: y + barHigh/2.0, Low: x(b.Low), High: x(b.High),
				Color: color(b.Series), Text: b.Text, TextX: math.Max(x(b.Value), x(b.High)) + 6, TextY: y + barHigh/2.0 + textRaise,
			})
			y += barHigh + barGap
		}
		if y == from { // the label wants its place
			y += barHigh + barGap
		}
		d.Labels = append(d.Labels, label{X: left - 8, Y: (from+y-barGap)/2 + textRaise, Text: g.Label})
		y += groupGap
	}
	for v := 0.0; v <= top*1.0001; v += step {
		d.Ticks = append(d.Ticks, label{X: x(v), Y: y + 14, Text: short(v)})
	}
	d.Bottom = int(y)
	d.Height, d.NoteY = d.Bottom+axisHigh, d.Bottom+axisHigh-10
	return d
}

func color(i int) string { return colors[i%len(colors)] }

func highest(c Chart) float64 {
	top := 0.0
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			for _, v := range []float64{b.Value, b.High} {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					top = math.Max(top, v)
				}
			}
		}
	}
	return top
}

// tickStep returns 1, 2 or 5 times a power of ten, so that there are four to
// ten ticks.
func tickStep(top float64) float64 {
	if top <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, m := range []float64{1, 2, 5} {
		if top/(m*power) <= 9 {
			return m * power
		}
	}
	return 10 * power
}

// short writes a value of an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

var page = template.Must(template.New("chart").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" font-family="sans-serif" font-size="12" role="img">
<title>{{.Title}}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="16" y="24" font-size="15" font-weight="bold" fill="#222222">{{.Title}}</text>
{{- range .Legend}}
<rect x="{{.X}}" y="38" width="11" height="11" fill="{{.Color}}"/><text x="{{.X}}" dx="16" y="48" fill="#222222">{{.Name}}</text>
{{- end}}
{{- range .Ticks}}
<line x1="{{.X}}" x2="{{.X}}" y1="58" y2="{{$.Bottom}}" stroke="#dddddd"/><text x="{{.X}}" y="{{.Y}}" text-anchor="middle" fill="#555555">{{.Text}}</text>
{{- end}}
{{- range .Labels}}
<text x="{{.X}}" y="{{.Y}}" text-anchor="end" fill="#222222">{{.Text}}</text>
{{- end}}
{{- range .Bars}}
<rect x="{{.X}}" y="{{.Y}}" width="{{.W}}" height="{{.H}}" fill="{{.Color}}"/>
{{- if lt .Low .High}}<line x1="{{.Low}}" x2="{{.High}}" y1="{{.Middle}}" y2="{{.Middle}}" stroke="#222222"/>{{end -}}
<text x="{{.TextX}}" y="{{.TextY}}" fill="#222222">{{.Text}}</text>
{{- end}}
<text x="{{.Width}}" dx="-16" y="{{.Bottom}}" dy="32" text-anchor="end" fill="#555555">{{.Unit}}</text>
<text x="16" y="{{.NoteY}}" font-size="10" fill="#777777">{{.Note}}</text>
</svg>
`))
