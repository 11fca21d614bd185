package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/search"
)

// crossvalSummary is the result of a cross-validation as JSON.
type crossvalSummary struct {
	By          string             `json:"by"`
	Folds       []foldSummary      `json:"folds"`
	Mean        map[string]float64 `json:"mean"`               // of metrics that are finite in all folds
	Deviation   map[string]float64 `json:"standard_deviation"` // over the folds, with n-1 in the denominator
	Dir         string             `json:"dir"`
	Predictions int64              `json:"predictions,omitempty"` // number of rows written
	Export      string             `json:"export,omitempty"`      // the folder of the SavedModel
	// OutOfFold are metrics over all rows, each row predicted by the model that has not seen it.
	OutOfFold map[string]float64 `json:"out_of_fold,omitempty"`
}

type foldSummary struct {
	Fold     int                `json:"fold"`
	Rows     int                `json:"rows"` // rows it was evaluated on
	Metrics  map[string]float64 `json:"metrics"`
	ModelDir string             `json:"model_dir"`
	Error    string             `json:"error,omitempty"`
}

func (c *crossval) summary(results []search.Result) *crossvalSummary {
	sum := &crossvalSummary{By: c.byText(), Dir: c.flags.dir, Mean: map[string]float64{}, Deviation: map[string]float64{}}
	slices.SortFunc(results, func(a, b search.Result) int { return a.Number - b.Number })
	for _, r := range results {
		sum.Folds = append(sum.Folds, foldSummary{Fold: r.Number, Rows: c.counts.held[r.Number], Metrics: r.Metrics, ModelDir: c.modelDir(r.Number), Error: r.Error})
	}
	if len(sum.failed()) > 0 {
		return sum
	}
	for name := range sum.Folds[0].Metrics {
		var values []float64
		for _, f := range sum.Folds {
			if x, ok := f.Metrics[name]; ok {
				values = append(values, x)
			}
		}
		if len(values) == len(sum.Folds) {
			sum.Mean[name], sum.Deviation[name] = meanDeviation(values)
		}
	}
	return sum
}

// byText is the value of --by, or the one that the default stands for.
func (c *crossval) byText() string {
	switch {
	case c.flags.by != "":
		return c.flags.by
	case c.by.Stratify != "":
		return "stratified"
	}
	return "plain"
}

// meanDeviation is the mean of at least two values, and their standard deviation.
func meanDeviation(values []float64) (mean, deviation float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	for _, x := range values {
		deviation += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(values)-1))
}

// failed are the folds without metrics.
func (s *crossvalSummary) failed() []foldSummary {
	return slices.DeleteFunc(slices.Clone(s.Folds), func(f foldSummary) bool { return f.Error == "" })
}

// print prints the result. A fold that failed is an error.
func (c *crossval) print(sum *crossvalSummary) error {
	var err error
	if c.flags.json {
		err = c.app.printJSON(sum)
	} else {
		_, err = io.WriteString(c.app.stdout, sum.table()+sum.lines(c.flags.predictions))
	}
	if failed := sum.failed(); err == nil && len(failed) > 0 {
		err = fmt.Errorf("%d of %d folds failed, fold %d with: %s (the same command trains them again)", len(failed), len(sum.Folds), failed[0].Fold, failed[0].Error)
	}
	return err
}

// table has a row for each fold, one for the means and one for the standard deviations.
func (s *crossvalSummary) table() string {
	names := sortedNames(s.Mean)
	t := newTextTable(append([]string{"fold", "rows"}, names...)...)
	for i := range len(names) + 2 {
		t.right(i)
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, f := range s.Folds {
		cells := []string{strconv.Itoa(f.Fold), strconv.Itoa(f.Rows)}
		if f.Error != "" {
			cells[1] = "failed"
		}
		for _, name := range names {
			cells = append(cells, number(f.Metrics[name]))
		}
		t.add(cells...)
	}
	if len(names) > 0 {
		means, deviations := []string{"mean", ""}, []string{"deviation", ""}
		for _, name := range names {
			means, deviations = append(means, number(s.Mean[name])), append(deviations, strconv.FormatFloat(s.Deviation[name], 'g', 3, 64))
		}
		t.add(means...)
		t.add(deviations...)
	}
	return t.String()
}

// lines are the means, a line name=value each, as other commands print them and metric collectors read them.
func (s *crossvalSummary) lines(predictions string) string {
	var b strings.Builder
	for _, name := range sortedNames(s.Mean) {
		fmt.Fprintf(&b, "%s=%.6g\n", name, s.Mean[name])
	}
	fmt.Fprintf(&b, "folds=%d\ndir=%s\n", len(s.Folds), s.Dir)
	if s.Predictions > 0 {
		fmt.Fprintf(&b, "predictions=%d\noutput=%s\n", s.Predictions, predictions)
	}
	for _, name := range sortedNames(s.OutOfFold) {
		fmt.Fprintf(&b, "out_of_fold/%s=%.6g\n", name, s.OutOfFold[name])
	}
	if s.Export != "" {
		fmt.Fprintf(&b, "export=%s\n", s.Export)
	}
	return b.String()
}
