package report

import (
	"encoding/json"
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// section is a part of the page: notes, tables and charts.
type section struct {
	Title    string
	Notes    []string
	Tables   []table
	Charts   []chart
	Matrix   *chart
	Examples *examples
}

// table is a table of numbers and texts. Columns after the first Left are aligned to the right.
type table struct {
	Title  string
	Folded bool // collapsed until the reader opens it
	Left   int
	Head   []string
	Rows   [][]string
}

// diagonal is the line of random guesses (ROC) or of perfect agreement.
var diagonal = [][2]float64{{0, 0}, {1, 1}}

// pen is how a series is drawn.
type pen int

const (
	line pen = iota
	dashed
	dots
)

// series is a series of points.
type series struct {
	name   string
	pen    pen
	points [][2]float64
}

// plane is a chart with two numeric axes.
type plane struct {
	id, title, x, y string
	unit            bool // both axes go from 0 to 1
	list            []series
}

// mostNamed is the largest number of series for which the chart has a legend.
const mostNamed = 12

// grey is the colour of guide lines.
const grey = "#999"

// draw makes the chart.
func (p plane) draw() (chart, error) {
	x := opts.XAxis{Type: "value", Name: p.x, NameLocation: "middle", NameGap: 28, Scale: opts.Bool(true)}
	y := opts.YAxis{Type: "value", Name: p.y, NameLocation: "middle", NameGap: 52, Scale: opts.Bool(true)}
	if p.unit {
		x.Min, x.Max, y.Min, y.Max = 0, 1, 0, 1
	}
	l := charts.NewLine()
	l.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: p.id}),
		charts.WithTitleOpts(opts.Title{Title: p.title}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(len(p.list) > 1 && len(p.list) <= mostNamed), Type: "scroll", Top: "28", Left: "center"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item"}),
		charts.WithXAxisOpts(x), charts.WithYAxisOpts(y),
		charts.WithGridOpts(opts.Grid{Left: "75", Right: "30", Top: "62", Bottom: "50"}),
	)
	for _, s := range p.list {
		switch s.pen {
		case dots:
			var data []opts.ScatterData
			for _, xy := range s.points {
				data = append(data, opts.ScatterData{Value: xy, SymbolSize: 5})
			}
			dots := charts.NewScatter()
			dots.AddSeries(s.name, data, charts.WithItemStyleOpts(opts.ItemStyle{Opacity: opts.Float(0.45)}))
			l.Overlap(dots)
		default:
			var data []opts.LineData
			for _, xy := range s.points {
				data = append(data, opts.LineData{Value: xy})
			}
			style := []charts.SeriesOpts{charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(s.pen == line && len(s.points) <= 12), Symbol: "circle"})}
			if s.pen == dashed {
				style = append(style, charts.WithLineStyleOpts(opts.LineStyle{Type: "dashed", Color: grey, Width: 1}), charts.WithItemStyleOpts(opts.ItemStyle{Color: grey}))
			}
			l.AddSeries(s.name, data, style...)
		}
	}
	l.Validate()
	return marshal(p.id, p.title, l.JSON())
}

// bars draws a bar for each name; horizontal bars, if across is set, leave room for long names.
func bars(id, title, axis string, names []string, values []float64, across bool) (chart, error) {
	b := charts.NewBar()
	b.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTitleOpts(opts.Title{Title: title}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: axis, NameLocation: "middle", NameGap: 28}),
		charts.WithGridOpts(opts.Grid{Left: "75", Right: "30", Top: "50", Bottom: "50"}),
	)
	var data []opts.BarData
	for _, v := range values {
		data = append(data, opts.BarData{Value: v})
	}
	b.SetXAxis(names).AddSeries(axis, data)
	if across {
		b.SetGlobalOptions(charts.WithXAxisOpts(opts.XAxis{Type: "value", Name: axis, NameLocation: "middle", NameGap: 28}),
			charts.WithYAxisOpts(opts.YAxis{Type: "category", Data: names, Inverse: opts.Bool(true)}),
			charts.WithGridOpts(opts.Grid{Left: "180", Right: "40", Top: "50", Bottom: "50"}))
	}
	b.Validate()
	return marshal(id, title, b.JSON())
}

func marshal(id, title string, options any) (chart, error) {
	b, err := json.Marshal(options)
	if err != nil {
		return chart{}, fmt.Errorf("chart %s: %w", title, err)
	}
	return chart{ID: id, Options: json.RawMessage(b)}, nil
}
