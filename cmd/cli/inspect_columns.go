package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/tensor"
)

// planned is a model_fn with feature columns.
type planned interface{ Plan() *feature.Plan }

// planOf returns the feature columns of a model_fn; nil if it has none.
func planOf(fn estimator.ModelFn) *feature.Plan {
	if m, ok := fn.(planned); ok {
		return m.Plan()
	}
	return nil
}

// columnInfo describes what a model reads of a feature column, as JSON.
type columnInfo struct {
	Part    string `json:"part"` // linear, dense or sequence
	Name    string `json:"name"` // TensorFlow's
	Kind    string `json:"kind"`
	Reads   string `json:"reads"` // column of the prepared records
	Width   int    `json:"width,omitempty"`
	Buckets int    `json:"buckets,omitempty"`
	Column  string `json:"column"` // the declaration
}

// columnInfos lists the feature columns of a model; nil for models without columns.
func columnInfos(fn estimator.ModelFn) ([]columnInfo, error) {
	plan := planOf(fn)
	if plan == nil {
		return nil, nil
	}
	linear, err := plan.Linear(1)
	if err != nil {
		return nil, err
	}
	var out []columnInfo
	for _, part := range []struct {
		name   string
		inputs []feature.Input
	}{{"linear", linear}, {"dense", plan.Dense()}, {"sequence", plan.Sequence()}} {
		for _, in := range part.inputs {
			out = append(out, columnInfo{Part: part.name, Name: in.Column, Kind: in.Kind.String(), Reads: in.Values, Width: in.Width,
				Buckets: in.Buckets, Column: in.String()})
		}
	}
	return out, nil
}

// formatColumns shows the columns as a table.
func formatColumns(list []columnInfo) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("feature columns:\n")
	for _, c := range list {
		fmt.Fprintf(&b, "  %-8s %s\n", c.Part, c.Column)
	}
	return b.String()
}

// weighing is a model with a linear part.
type weighing interface {
	LinearWeights(read func(variable string) (*tensor.Tensor, error)) ([]canned.Weight, error)
}

// important is a model of trees.
type important interface {
	Importances(read func(variable string) (*tensor.Tensor, error), normalize bool) ([]canned.Importance, error)
}

// printWeights shows what the newest checkpoint has learnt of the columns: linear
// weights by value, or importances.
func (a *app) printWeights(ctx context.Context, cfg *config.Config, asJSON bool) error {
	j, err := a.looseJob(ctx, cfg)
	if err != nil {
		return err
	}
	defer j.est.Close()
	switch m := j.fn.(type) {
	case weighing:
		list, err := m.LinearWeights(j.est.VariableValue)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return a.printTable(weightTable(list), map[string]any{"weights": jsonWeights(list)}, asJSON)
		}
	case important:
		list, err := m.Importances(j.est.VariableValue, true)
		if err != nil {
			return err
		}
		return a.printTable(importanceTable(list), map[string]any{"importances": jsonImportances(list)}, asJSON)
	}
	return usage(fmt.Errorf("--weights: model %s has neither a linear part over feature columns nor trees", cfg.Model.Name))
}

func (a *app) printTable(t *textTable, v map[string]any, asJSON bool) error {
	if asJSON {
		return a.printJSON(v)
	}
	_, err := fmt.Fprint(a.stdout, t.String())
	return err
}

// jsonWeights are weights as JSON: null for a weight that is not finite.
func jsonWeights(list []canned.Weight) []any {
	type weight struct {
		Column string `json:"column"`
		Value  string `json:"value"`
		Weight []any  `json:"weight"`
	}
	out := make([]any, len(list))
	for i, w := range list {
		row := weight{w.Column, w.Value, make([]any, len(w.Weight))}
		for k, x := range w.Weight {
			row.Weight[k] = finite(x)
		}
		out[i] = row
	}
	return out
}

// jsonImportances are importances as JSON.
func jsonImportances(list []canned.Importance) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = struct {
			Column string
			Gain   any
		}{x.Column, finite(x.Gain)}
	}
	return out
}

func weightTable(list []canned.Weight) *textTable {
	t := newTextTable("column", "value", "weight")
	for _, w := range list {
		text := make([]string, len(w.Weight))
		for i, x := range w.Weight {
			text[i] = fmt.Sprintf("%.6g", x)
		}
		t.add(w.Column, w.Value, strings.Join(text, " "))
	}
	return t
}

func importanceTable(list []canned.Importance) *textTable {
	t := newTextTable("column", "importance")
	for _, i := range list {
		t.add(i.Column, fmt.Sprintf("%.6g", i.Gain))
	}
	return t
}
