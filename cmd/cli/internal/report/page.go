package report

import (
	_ "embed" // for the page's template
	"html/template"
	"io"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/internal/report/echarts"
)

//go:embed assets/page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"number": func(n assess.Number) string { return number(float64(n)) }}).Parse(pageText))

// Write writes the page.
func (r *Run) Write(w io.Writer) error {
	curves, histograms, err := r.charts()
	if err != nil {
		return err
	}
	classes, err := r.classTables()
	if err != nil {
		return err
	}
	evaluation, err := r.evaluation()
	if err != nil {
		return err
	}
	step, err := r.stepSection()
	if err != nil {
		return err
	}
	step = append(r.timeSection(), step...)
	embeddings, err := r.embeddingSection()
	if err != nil {
		return err
	}
	step = append(embeddings, step...)
	damage := ""
	if r.Damage != nil {
		damage = r.Damage.Error()
	}
	return page.Execute(w, map[string]any{
		"Dir": r.Dir, "Step": r.lastStep(), "Metrics": r.metrics(), "Checkpoints": r.saved(), "Config": r.Config,
		"Curves": curves, "Histograms": histograms, "Classes": classes, "Damage": damage, "Evaluation": evaluation, "Time": step,
		"ECharts": template.JS(echarts.Script), //nolint:gosec // ours, not of the data
	})
}
