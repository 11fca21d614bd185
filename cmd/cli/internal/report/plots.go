package report

import (
	_ "embed" // for the page's template
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/internal/report/echarts"
)

//go:embed assets/plots.html
var plotsText string

var plotsPage = template.Must(template.New("plots").Parse(plotsText))

// Plots is a self-contained page of charts and tables.
type Plots struct {
	Title, Note string
	Tables      []Table
	charts      []chart
}

// Table is a table of the page.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// Points is a line in a chart.
type Points struct {
	Name string
	XY   [][2]float64
}

// Axis is one of several parallel axes; it has names as values if Names is set, else numbers.
type Axis struct {
	Name        string
	Names       []string
	Logarithmic bool
}

// AddLines adds a chart of lines; its horizontal axis may be logarithmic.
func (p *Plots) AddLines(title, x string, logarithmic bool, lines ...Points) error {
	kind := "value"
	if logarithmic {
		kind = "log"
	}
	l := charts.NewLine()
	l.SetGlobalOptions(append(p.shared(title), charts.WithLegendOpts(opts.Legend{Show: opts.Bool(len(lines) > 1), Top: "26", Left: "center"}),
		charts.WithXAxisOpts(opts.XAxis{Type: kind, Name: x, Min: "dataMin", Max: "dataMax", NameLocation: "middle", NameGap: 28}), charts.WithYAxisOpts(linear))...)
	for _, line := range lines {
		c := curve{name: line.Name}
		for _, xy := range line.XY {
			c.points = append(c.points, opts.LineData{Value: []any{xy[0], xy[1]}})
		}
		l.AddSeries(c.name, c.points, charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(len(c.points) <= 100), Symbol: "circle"}))
	}
	l.Validate()
	return p.add(title, l.JSON())
}

// AddBars adds a chart with a bar for each name.
func (p *Plots) AddBars(title string, names []string, values []float64) error {
	b := charts.NewBar()
	b.SetGlobalOptions(append(p.shared(title), charts.WithXAxisOpts(opts.XAxis{Type: "category"}), charts.WithYAxisOpts(opts.YAxis{Type: "value"}))...)
	var data []opts.BarData
	for _, v := range values {
		data = append(data, opts.BarData{Value: v})
	}
	b.SetXAxis(names).AddSeries("", data)
	b.Validate()
	return p.add(title, b.JSON())
}

// AddParallel adds a chart with a line for each row across parallel axes; a value is a number, a name of the axis, or "-" for none.
func (p *Plots) AddParallel(title string, axes []Axis, rows [][]any) error {
	c := charts.NewParallel()
	var list []opts.ParallelAxis
	for i, a := range axes {
		x := opts.ParallelAxis{Dim: i, Name: a.Name, Type: "value"}
		switch {
		case len(a.Names) > 0:
			x.Type, x.Data = "category", a.Names
		case a.Logarithmic:
			x.Type = "log"
		}
		list = append(list, x)
	}
	c.SetGlobalOptions(append(p.shared(title), charts.WithParallelAxisList(list), charts.WithParallelComponentOpts(opts.ParallelComponent{Left: "60", Right: "90", Top: "80", Bottom: "30"}))...)
	var data []opts.ParallelData
	for _, row := range rows {
		data = append(data, opts.ParallelData{Value: row})
	}
	c.AddSeries("trial", data)
	c.Validate()
	return p.add(title, c.JSON())
}

// shared are the options common to all charts of the page.
func (p *Plots) shared(title string) []charts.GlobalOpts {
	return []charts.GlobalOpts{charts.WithInitializationOpts(opts.Initialization{ChartID: fmt.Sprintf("plot%d", len(p.charts))}),
		charts.WithTitleOpts(opts.Title{Title: title}), charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithGridOpts(opts.Grid{Left: "80", Right: "50", Top: "60", Bottom: "50"})}
}

func (p *Plots) add(title string, options any) error {
	text, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("chart %s: %w", title, err)
	}
	p.charts = append(p.charts, chart{ID: fmt.Sprintf("plot%d", len(p.charts)), Options: json.RawMessage(text)})
	return nil
}

// Write writes the page.
func (p *Plots) Write(w io.Writer) error {
	return plotsPage.Execute(w, map[string]any{"Title": p.Title, "Note": p.Note, "Tables": p.Tables, "Charts": p.charts,
		"ECharts": template.JS(echarts.Script)}) //nolint:gosec // ours, not of the data
}
