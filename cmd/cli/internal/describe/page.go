package describe

import (
	"cmp"
	_ "embed" // for the page's template
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/internal/report/echarts"
)

//go:embed assets/page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"short": short, "brief": brief, "percent": func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
}).Parse(pageText))

// chart is a chart: an element's id and the options that ECharts draws there.
type chart struct {
	ID      string
	Options any
}

// mostCharts is the largest number of columns to draw.
const mostCharts = 200

// WriteHTML writes a self-contained page.
func (d *Description) WriteHTML(w io.Writer) error {
	var list []chart
	add := func(title string, names []string, values []float64) error {
		c, err := bar(fmt.Sprintf("chart%d", len(list)), title, names, values)
		list = append(list, c)
		return err
	}
	if d.Label != nil && len(d.Label.Classes) > 0 {
		names, values := heights(d.Label.Classes)
		if err := add("classes of "+d.Label.Name, names, values); err != nil {
			return err
		}
	}
	if names, values := d.strongest(); len(names) > 0 {
		if err := add("tells of the label alone, %", names, values); err != nil {
			return err
		}
	}
	for _, c := range d.Columns[:min(len(d.Columns), mostCharts)] {
		var names []string
		var values []float64
		if c.Numbers != nil {
			for _, h := range c.Numbers.Histogram {
				names, values = append(names, short(h.From)), append(values, float64(h.Count))
			}
		} else {
			names, values = heights(c.Top)
		}
		if len(names) == 0 {
			continue
		}
		if err := add(brief(c.Name), names, values); err != nil {
			return err
		}
	}
	return page.Execute(w, map[string]any{"D": d, "Charts": list, "ECharts": template.JS(echarts.Script)}) //nolint:gosec // ours, not of the data
}

// heights returns the names and counts of values.
func heights(list []Value) (names []string, values []float64) {
	for _, v := range list[:min(len(list), 50)] {
		names, values = append(names, brief(v.Value)), append(values, float64(v.Count))
	}
	return names, values
}

// strongest are the columns that predict the label best.
func (d *Description) strongest() (names []string, values []float64) {
	var list []Column
	for _, c := range d.Columns {
		if c.Relation != nil {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Column) int { return cmp.Compare(b.Relation.Alone, a.Relation.Alone) })
	for _, c := range list[:min(len(list), 30)] {
		names, values = append(names, brief(c.Name)), append(values, math.Round(1000*c.Relation.Alone)/10)
	}
	return names, values
}

// bar makes a bar chart.
func bar(id, title string, names []string, values []float64) (chart, error) {
	b := charts.NewBar()
	b.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTitleOpts(opts.Title{Title: title}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category"}),
		charts.WithGridOpts(opts.Grid{Left: "70", Right: "30", Top: "50", Bottom: "50"}),
	)
	var data []opts.BarData
	for _, v := range values {
		data = append(data, opts.BarData{Value: v})
	}
	b.SetXAxis(names).AddSeries("rows", data)
	b.Validate()
	options, err := json.Marshal(b.JSON())
	if err != nil {
		return chart{}, fmt.Errorf("chart %s: %w", title, err)
	}
	return chart{id, json.RawMessage(options)}, nil
}
