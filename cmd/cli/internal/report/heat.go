package report

import (
	"math"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
)

// The largest number of columns, and the number of rows, of a heat map of histograms.
const (
	heatSteps = 60
	heatRows  = 32
)

// histogramHeat draws how a distribution changes: steps from left to right, values upwards, darker where more of a step's values
// lie. If there are too many steps it draws some, including the last. Values beyond the middle 98 % count for the outer rows.
func histogramHeat(id string, tag events.Tag) (chart, error) {
	points := tag.Points
	if every := (len(points) + heatSteps - 1) / heatSteps; every > 1 {
		var some []events.Point
		for i := len(points) - 1; i >= 0; i -= every {
			some = append([]events.Point{points[i]}, some...)
		}
		points = some
	}
	low, high := heatRange(points)
	var steps, values []string
	width := (high - low) / heatRows
	for i := range heatRows {
		values = append(values, number(low+float64(i)*width))
	}
	var cells []opts.HeatMapData
	top := 0.0
	for x, p := range points {
		steps = append(steps, strconv.FormatInt(p.Step, 10))
		for y, share := range heatColumn(p.Histogram, low, high) {
			if share > 0 {
				cells = append(cells, opts.HeatMapData{Value: [3]any{x, y, math.Round(share*1e4) / 1e4}})
				top = max(top, share)
			}
		}
	}
	m := charts.NewHeatMap()
	m.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTitleOpts(opts.Title{Title: tag.Name}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: "step", NameLocation: "middle", NameGap: 28, Data: steps}),
		charts.WithYAxisOpts(opts.YAxis{Type: "category", Name: "value", Data: values}),
		charts.WithVisualMapOpts(opts.VisualMap{Min: 0, Max: float32(max(top, 1e-4)), Show: opts.Bool(false), InRange: &opts.VisualMapInRange{Color: blues}}),
		charts.WithGridOpts(opts.Grid{Left: "85", Right: "30", Top: "60", Bottom: "50"}),
	)
	m.AddSeries("share", cells, charts.WithLabelOpts(opts.Label{Show: opts.Bool(false)}))
	m.Validate()
	return marshal(id, tag.Name, m.JSON())
}

// blues are the colours from the lowest to the highest share.
var blues = []string{"#f7fbff", "#6baed6", "#08306b"}

// heatRange is the range of values that the rows cover.
func heatRange(points []events.Point) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		a, b := quantile(p.Histogram, 0.01), quantile(p.Histogram, 0.99)
		if !math.IsNaN(a) && !math.IsInf(a, 0) && !math.IsNaN(b) && !math.IsInf(b, 0) {
			low, high = min(low, a), max(high, b)
		}
	}
	switch {
	case low > high: // nothing finite
		return 0, 1
	case low == high:
		return low - 0.5, low + 0.5
	}
	return low, high
}

// heatColumn is the share of a histogram's values in each row; the values of a bucket are spread evenly over it.
func heatColumn(h *summarypb.HistogramProto, low, high float64) [heatRows]float64 {
	var out [heatRows]float64
	row := func(x float64) float64 { return (x - low) / (high - low) * heatRows }
	total := 0.0
	from := h.GetMin()
	limits := h.GetBucketLimit()
	for i, n := range h.GetBucket() {
		if i == len(limits) {
			break // a malformed file of another program
		}
		to := min(limits[i], h.GetMax())
		if n > 0 {
			spread(&out, row(max(from, h.GetMin())), row(to), n)
			total += n
		}
		from = to
	}
	for i := range out {
		out[i] /= max(total, 1e-300)
	}
	return out
}

// spread distributes n over the rows from a to b by overlap. What lies beyond the rows counts for the first and the last row.
func spread(out *[heatRows]float64, a, b, n float64) {
	if math.IsNaN(a) || math.IsNaN(b) {
		return
	}
	inside := func(x float64) float64 { return min(max(x, 0), heatRows) }
	if b-a < 1e-9 {
		out[min(int(inside(a)), heatRows-1)] += n
		return
	}
	out[0] += n * max(min(b, 0)-a, 0) / (b - a)
	out[heatRows-1] += n * max(b-max(a, heatRows), 0) / (b - a)
	for i := int(inside(a)); i < heatRows && float64(i) < b; i++ {
		out[i] += n * max(min(b, float64(i+1))-max(a, float64(i)), 0) / (b - a)
	}
}
