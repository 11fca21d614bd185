package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
)

// summary is the result of a command that trains or evaluates.
type summary struct {
	globalStep int64    // negative: unknown, as in parameter servers
	loss       *float64 // of training; nil: no step was run
	metrics    map[string]metrics.Value
	modelDir   string
	exports    []string
	stopReason string
	classes    map[string]classReport // from confusion matrices, by their names
	skipped    map[string]int64       // damaged rows that were left out, by section of the input
}

func newSummary(j *job, res estimator.Result) summary {
	s := summary{globalStep: res.GlobalStep, modelDir: j.est.ModelDir(), exports: res.Exports, stopReason: res.StopReason, skipped: j.skipped.counts()}
	if res.LossRead {
		s.loss = &res.Loss
	}
	if res.Eval != nil {
		s.metrics = res.Eval.Metrics
	}
	return s
}

// jsonSummary is a summary as JSON: numbers that are not finite are null, and listed in NotFinite by path.
type jsonSummary struct {
	GlobalStep *int64            `json:"global_step"`
	Loss       any               `json:"loss"`
	Metrics    map[string]any    `json:"metrics"`
	NotFinite  map[string]string `json:"not_finite,omitempty"`
	ModelDir   string            `json:"model_dir"`
	Exports    []string          `json:"exports"`
	StopReason string            `json:"stop_reason,omitempty"`
	Skipped    map[string]int64  `json:"skipped_rows,omitempty"`

	PerClass map[string]classReport `json:"per_class,omitempty"`
}

func (s summary) json() jsonSummary {
	out := jsonSummary{Metrics: map[string]any{}, NotFinite: map[string]string{}, ModelDir: s.modelDir,
		Exports: append([]string{}, s.exports...), StopReason: s.stopReason, PerClass: s.classes, Skipped: s.skipped}
	if s.globalStep >= 0 {
		out.GlobalStep = &s.globalStep
	}
	number := func(path string, x float64) any {
		if !isFinite(x) {
			out.NotFinite[path] = notFinite(x)
		}
		return finite(x)
	}
	if s.loss != nil {
		out.Loss = number("loss", *s.loss)
	}
	for name, v := range s.metrics {
		path := "metrics." + name
		if x, ok := v.Scalar(); ok {
			out.Metrics[name] = number(path, x)
			continue
		}
		list := make([]any, len(v.Data))
		for i, x := range v.Data {
			list[i] = number(path+"["+strconv.Itoa(i)+"]", x)
		}
		out.Metrics[name] = list
	}
	return out
}

// numbers are the metrics that are finite.
func (s jsonSummary) numbers() map[string]float64 {
	out := map[string]float64{}
	for name, v := range s.Metrics {
		if x, ok := v.(float64); ok {
			out[name] = x
		}
	}
	return out
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// finite is a number as JSON: null for NaN and infinities.
func finite(x float64) any {
	if !isFinite(x) {
		return nil
	}
	return x
}

// notFinite names a number that JSON cannot represent: NaN, +Inf or -Inf.
func notFinite(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// printResult prints a result to standard output: as JSON, or as name=value lines.
func (a *app) printResult(s summary, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(a.stdout).Encode(s.json())
	}
	if s.globalStep >= 0 {
		fmt.Fprintf(a.stdout, "global_step=%d\n", s.globalStep)
	}
	if s.loss != nil {
		fmt.Fprintf(a.stdout, "train_loss=%.6g\n", *s.loss)
	}
	for _, name := range sortedNames(s.metrics) {
		if x, ok := s.metrics[name].Scalar(); ok {
			fmt.Fprintf(a.stdout, "%s=%.6g\n", name, x)
		}
	}
	if s.modelDir != "" {
		fmt.Fprintf(a.stdout, "model_dir=%s\n", s.modelDir)
	}
	for _, dir := range s.exports {
		fmt.Fprintf(a.stdout, "export=%s\n", dir)
	}
	if s.stopReason != "" {
		fmt.Fprintf(a.stdout, "stop_reason=%s\n", s.stopReason)
	}
	a.printSkipped(s.skipped)
	return a.printClassReports(s.classes)
}
