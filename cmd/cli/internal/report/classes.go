package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// classTable has the metrics of each class in the last evaluation of a run.
type classTable struct {
	Title string
	Rows  []classRow
	Chart *chart // the confusion matrix; nil: too many classes
}

// classRow is a row of a classTable.
type classRow struct{ Name, Precision, Recall, F1, Support string }

// mostDrawn is the greatest number of classes for which a confusion matrix is drawn.
const mostDrawn = 100

// classTables come from the confusion matrices in the events; none if the report evaluated the model itself.
func (r *Run) classTables() ([]classTable, error) {
	var out []classTable
	if r.Evaluation != nil && len(r.Evaluation.Heads) > 0 {
		return nil, nil
	}
	for _, run := range r.Events {
		for _, tag := range run.Tags {
			last := tag.Last()
			base, _, _ := strings.Cut(tag.Name, "/")
			if tag.Kind != events.Tensor || base != "confusion_matrix" || last.Matrix == nil || last.Matrix.Shape[0] != last.Matrix.Shape[1] {
				continue
			}
			t, err := r.classTable(fmt.Sprintf("matrix%d", len(out)), last.Matrix)
			if err != nil {
				return nil, err
			}
			t.Title = fmt.Sprintf("Classes: %s of %s, step %d", tag.Name, RunLabel(run.Name), last.Step)
			out = append(out, t)
		}
	}
	return out, nil
}

func (r *Run) classTable(id string, matrix *tensor.Tensor) (t classTable, err error) {
	v := metrics.Value{Shape: matrix.Shape, Data: make([]float64, matrix.Len())}
	for i := range v.Data {
		v.Data[i] = matrix.Float(i)
	}
	rows, err := metrics.PerClass(v)
	if err != nil {
		return t, err
	}
	names := make([]string, len(rows))
	for i, c := range rows {
		names[i] = strconv.Itoa(i)
		if len(r.ClassNames) == len(rows) {
			names[i] = r.ClassNames[i]
		}
		t.Rows = append(t.Rows, classRow{names[i], number(c.Precision), number(c.Recall), number(c.F1), number(c.Support)})
	}
	if len(rows) <= mostDrawn {
		t.Chart, err = heatMap(id, names, v.Data)
	}
	return t, err
}

// heatMap draws a confusion matrix: predictions from left to right, labels from top to bottom.
func heatMap(id string, names []string, matrix []float64) (*chart, error) {
	n, most := len(names), 1.0
	var cells []opts.HeatMapData
	for i, w := range matrix {
		cells = append(cells, opts.HeatMapData{Value: [3]any{i % n, i / n, w}})
		most = max(most, w)
	}
	m := charts.NewHeatMap()
	m.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: "predicted", Data: names, NameLocation: "middle", NameGap: 30}),
		charts.WithYAxisOpts(opts.YAxis{Type: "category", Name: "label", Data: names, Inverse: opts.Bool(true)}),
		charts.WithVisualMapOpts(opts.VisualMap{Min: 0, Max: float32(most), Calculable: opts.Bool(true), Left: "right", Top: "center",
			InRange: &opts.VisualMapInRange{Color: blues}}),
		charts.WithGridOpts(opts.Grid{Left: "120", Right: "110", Top: "40", Bottom: "60"}),
	)
	m.AddSeries("examples", cells, charts.WithLabelOpts(opts.Label{Show: opts.Bool(n <= 20)}))
	m.Validate()
	c, err := marshal(id, "confusion matrix", m.JSON())
	return &c, err
}
