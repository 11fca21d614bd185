package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/internal/search"
)

// writePage writes the result of a sweep as HTML.
func (s sweepSummary) writePage(path string, from *search.Search) error {
	spec := from.Spec()
	p := report.Plots{Title: "Sweep", Note: "no trial has a value of " + s.Metric}
	if s.Best != nil {
		p.Note = fmt.Sprintf("%d trials, %s. The best is trial %d: %s %.6g", len(s.Trials), spec.Algorithm, s.Best.Number, s.Metric, *s.Best.Value)
		if err := s.addCharts(&p, spec); err != nil {
			return err
		}
	}
	t := report.Table{Title: "Trials", Header: []string{"trial", s.Metric, "steps"}}
	for _, x := range spec.Parameters {
		t.Header = append(t.Header, x.Key)
	}
	for _, r := range s.Trials {
		steps := "all"
		if r.Steps > 0 {
			steps = strconv.FormatInt(r.Steps, 10)
		}
		t.Rows = append(t.Rows, append([]string{strconv.Itoa(r.Number), metricText(r), steps}, valueTexts(r, spec.Parameters)...))
	}
	p.Tables = append(p.Tables, t)
	return writePlots(path, p)
}

func (s sweepSummary) addCharts(p *report.Plots, spec search.Spec) error {
	if err := s.addParallel(p, spec); err != nil {
		return err
	}
	all, best := report.Points{Name: "trial"}, report.Points{Name: "best so far"}
	order := slices.Clone(s.Trials)
	slices.SortFunc(order, func(a, b search.Result) int { return a.Number - b.Number })
	top := math.NaN()
	for _, r := range order {
		x, ok := r.Got()
		if !ok {
			continue
		}
		if math.IsNaN(top) || x < top != spec.HigherIsBetter {
			top = x
		}
		all.XY = append(all.XY, [2]float64{float64(r.Number), x})
		best.XY = append(best.XY, [2]float64{float64(r.Number), top})
	}
	if err := p.AddLines(s.Metric+" by trial", "trial", false, all, best); err != nil {
		return err
	}
	var names []string
	var values []float64
	for _, x := range spec.Parameters {
		if v := s.Importance[x.Key]; v != nil {
			names, values = append(names, x.Key), append(values, *v)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return p.AddBars("Importance, 0 to 1", names, values)
}

// addParallel draws each trial that has a value as a line across its parameters.
func (s sweepSummary) addParallel(p *report.Plots, spec search.Spec) error {
	var axes []report.Axis
	for _, x := range spec.Parameters {
		a := report.Axis{Name: x.Key, Logarithmic: x.Log}
		for _, r := range s.Trials {
			v, ok := r.Values[x.Key]
			if text := shortText(v); len(x.Values) > 0 && ok && !slices.Contains(a.Names, text) {
				a.Names = append(a.Names, text)
			}
		}
		axes = append(axes, a)
	}
	axes = append(axes, report.Axis{Name: s.Metric})
	var rows [][]any
	for _, r := range s.Trials {
		metric, ok := r.Got()
		if !ok {
			continue
		}
		var row []any
		for _, x := range spec.Parameters {
			v, ok := r.Values[x.Key]
			switch {
			case !ok:
				v = "-"
			case len(x.Values) > 0:
				v = shortText(v)
			}
			row = append(row, v)
		}
		rows = append(rows, append(row, metric))
	}
	return p.AddParallel("Trials", axes, rows)
}
