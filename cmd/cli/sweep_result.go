package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
)

// sweepSummary is the result of a sweep as JSON.
type sweepSummary struct {
	Metric     string              `json:"metric"`
	Best       *search.Result      `json:"best"` // null: no trial has a value
	Config     string              `json:"config,omitempty"`
	ModelDir   string              `json:"model_dir,omitempty"`
	Trials     []search.Result     `json:"trials"` // the best first
	Importance map[string]*float64 `json:"importance"`
}

// sweepResult writes the best config and prints the results of the trials.
func (a *app) sweepResult(cfg *config.Config, s *search.Search, f sweepFlags) error {
	sum := sweepSummary{Metric: s.Spec().Metric, Trials: s.Ranked(), Importance: map[string]*float64{}}
	for i, x := range s.Importance() {
		key := s.Spec().Parameters[i].Key
		if sum.Importance[key] = nil; !math.IsNaN(x) {
			sum.Importance[key] = &x
		}
	}
	if len(sum.Trials) > 0 {
		if _, ok := sum.Trials[0].Got(); ok {
			sum.Best = &sum.Trials[0]
		}
	}
	if sum.Best != nil {
		best := sum.Best
		sum.ModelDir = f.trialDir(best.Trial)
		sum.Config = filepath.Join(f.dir, "best.yaml")
		won, err := config.Load(config.LoadOptions{Path: f.path, Sets: append(f.sets[:len(f.sets):len(f.sets)], append(best.Sets(), "model_dir="+sum.ModelDir)...)})
		if err != nil {
			return err
		}
		won.Sweep = search.Spec{}
		if err := won.WriteFile(sum.Config); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := sum.writePage(f.html, s); err != nil {
			return err
		}
	}
	var err error
	if f.json {
		err = a.printJSON(sum)
	} else {
		_, err = io.WriteString(a.stdout, sum.table(s.Spec().Parameters)+sum.lines())
	}
	if err == nil && sum.Best == nil {
		err = fmt.Errorf("no trial has a value of %s", sum.Metric)
	}
	return err
}

// table has a row for each trial, and the importance of each parameter.
func (s sweepSummary) table(parameters []search.Parameter) string {
	header := []string{"trial", s.Metric}
	for _, p := range parameters {
		header = append(header, p.Key)
	}
	t := newTextTable(header...)
	t.right(0, 1)
	row := []string{"", "importance"}
	for _, p := range parameters {
		text := "-"
		if x := s.Importance[p.Key]; x != nil {
			text = strconv.FormatFloat(*x, 'f', 2, 64)
		}
		row = append(row, text)
	}
	for _, r := range s.Trials {
		cells := []string{strconv.Itoa(r.Number), metricText(r)}
		t.add(append(cells, valueTexts(r, parameters)...)...)
	}
	t.add(row...)
	return t.String()
}

// metricText is the metric of a trial.
func metricText(r search.Result) string {
	x, ok := r.Got()
	switch {
	case !ok:
		return "failed"
	case r.Stopped:
		return strconv.FormatFloat(x, 'g', 6, 64) + " (stopped)"
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// valueTexts are the values of a trial; "-" for a key that it does not set.
func valueTexts(r search.Result, parameters []search.Parameter) []string {
	var out []string
	for _, p := range parameters {
		if v, ok := r.Values[p.Key]; ok {
			out = append(out, shortText(v))
		} else {
			out = append(out, "-")
		}
	}
	return out
}

func shortText(v any) string {
	if x, ok := v.(float64); ok {
		return strconv.FormatFloat(x, 'g', 5, 64)
	}
	_, text, _ := strings.Cut(search.Trial{Values: map[string]any{"": v}}.Sets()[0], "=")
	return text
}

// lines name the best trial, in lines name=value, as other commands print them and metric collectors read them.
func (s sweepSummary) lines() string {
	if s.Best == nil {
		return ""
	}
	return fmt.Sprintf("trials=%d\nbest_trial=%d\n%s=%.6g\nmodel_dir=%s\nconfig=%s\n", len(s.Trials), s.Best.Number, s.Metric, *s.Best.Value, s.ModelDir, s.Config)
}
