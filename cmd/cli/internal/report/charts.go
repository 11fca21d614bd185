package report

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
)

// chart is a chart on the page: an element's id and the options that ECharts draws there.
type chart struct {
	ID      string
	Options any
	Tall    bool
}

// curve is one line of a chart.
type curve struct {
	name   string
	points []opts.LineData
}

// scalarChart draws the values of a scalar in each run.
func scalarChart(id string, t tagged) (chart, error) {
	y, logarithmic := linear, false
	if isLoss(t.name) {
		y, logarithmic = lossAxis(t.tags)
	}
	var curves []curve
	for i, tag := range t.tags {
		c := curve{name: t.runs[i]}
		for _, p := range tag.Points {
			if logarithmic && p.Scalar == 0 {
				c.gap(p.Step)
				continue
			}
			c.add(p.Step, p.Scalar)
		}
		curves = append(curves, c)
	}
	return lineChart(id, t.name, curves, y)
}

// histogramCurves show how a distribution changes: minimum, maximum and three quantiles.
func histogramCurves(tag events.Tag) []curve {
	out := []curve{{name: "max"}, {name: "95%"}, {name: "median"}, {name: "5%"}, {name: "min"}}
	for _, p := range tag.Points {
		h := p.Histogram
		for i, x := range []float64{h.GetMax(), quantile(h, 0.95), quantile(h, 0.5), quantile(h, 0.05), h.GetMin()} {
			out[i].add(p.Step, x)
		}
	}
	return out
}

// quantile is the value below which a share q of a histogram lies, interpolated linearly within a bucket.
func quantile(h *summarypb.HistogramProto, q float64) float64 {
	want, below := q*h.GetNum(), 0.0
	low := h.GetMin()
	limits := h.GetBucketLimit()
	for i, n := range h.GetBucket() {
		if i == len(limits) {
			break // a malformed file of another program
		}
		high := min(limits[i], h.GetMax())
		if n > 0 && below+n >= want {
			low = max(low, h.GetMin())
			return low + (high-low)*(want-below)/n
		}
		below, low = below+n, high
	}
	return h.GetMax()
}

// add appends a point; a value that is not finite leaves a gap.
func (c *curve) add(step int64, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		c.gap(step)
		return
	}
	c.points = append(c.points, opts.LineData{Value: []any{step, value}})
}

// gap ends the line before a step and continues it after the step.
func (c *curve) gap(step int64) {
	c.points = append(c.points, opts.LineData{Value: []any{step, "-"}})
}

// lineChart draws curves over the global step, along the axis y.
func lineChart(id, title string, curves []curve, y opts.YAxis) (chart, error) {
	left := "70"
	if y.Name != "" {
		left = "100" // room for labels such as 0.000001, and the name beside them
	}
	l := charts.NewLine()
	l.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTitleOpts(opts.Title{Title: title}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(len(curves) > 1), Top: "26", Left: "center"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithToolboxOpts(opts.Toolbox{Show: opts.Bool(true), Feature: &opts.ToolBoxFeature{
			SaveAsImage: &opts.ToolBoxFeatureSaveAsImage{Show: opts.Bool(true), Title: "save"}}}),
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Name: "step", Min: "dataMin", Max: "dataMax"}),
		charts.WithYAxisOpts(y),
		charts.WithGridOpts(opts.Grid{Left: left, Right: "50", Top: "60", Bottom: "40"}),
	)
	for _, c := range curves {
		l.AddSeries(c.name, c.points, charts.WithLineChartOpts(opts.LineChart{
			ShowSymbol: opts.Bool(len(c.points) <= 20), Symbol: "circle"}))
	}
	l.Validate()
	return marshal(id, title, l.JSON())
}

// EmptyChart returns the ECharts options, as JSON, of a chart without curves; a page adds curves as they arrive.
func EmptyChart() (json.RawMessage, error) {
	c, err := lineChart("", "", nil, linear)
	if err != nil {
		return nil, err
	}
	options, ok := c.Options.(json.RawMessage)
	if !ok {
		return nil, fmt.Errorf("chart: expected its options as JSON, got %T", c.Options)
	}
	return options, nil
}

// charts draws everything in the events; the second list has the histograms.
func (r *Run) charts() (curves, histograms []chart, err error) {
	for i, t := range r.byTag(events.Scalar) {
		if isTimeShare(t.name) {
			continue
		}
		c, err := scalarChart(fmt.Sprintf("scalar%d", i), t)
		if err != nil {
			return nil, nil, err
		}
		curves = append(curves, c)
	}
	for i, t := range r.byTag(events.Histogram) {
		c, err := lineChart(fmt.Sprintf("histogram%d", i), t.name, histogramCurves(t.tags[0]), linear)
		if err != nil {
			return nil, nil, err
		}
		heat, err := histogramHeat(fmt.Sprintf("heat%d", i), t.tags[0])
		if err != nil {
			return nil, nil, err
		}
		histograms = append(histograms, c, heat)
	}
	return curves, histograms, nil
}
