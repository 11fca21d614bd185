package page

import (
	"encoding/json"
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// drawings are the options of the charts by element id; the page adds the data as it
// arrives.
func drawings() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, c := range []struct{ id, title, unit string }{
		{"rate", "Requests per second", "1/s"},
		{"latency", "Latency: median and 99th percentile", "ms"},
	} {
		l := charts.NewLine()
		l.SetGlobalOptions(
			charts.WithInitializationOpts(opts.Initialization{ChartID: c.id}),
			charts.WithTitleOpts(opts.Title{Title: c.title}),
			charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Type: "scroll", Top: "26", Left: "center"}),
			charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
			charts.WithXAxisOpts(opts.XAxis{Type: "time"}),
			charts.WithYAxisOpts(opts.YAxis{Type: "value", Name: c.unit}),
			charts.WithGridOpts(opts.Grid{Left: "60", Right: "20", Top: "80", Bottom: "30"}),
			charts.WithAnimation(false),
		)
		l.Validate()
		options, err := json.Marshal(l.JSON())
		if err != nil {
			return nil, fmt.Errorf("page: chart %s: %w", c.id, err)
		}
		all[c.id] = options
	}
	return all, nil
}
