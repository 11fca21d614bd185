package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/runconfig"
)

const (
	paramWeights = "class_weights"
	balanced     = "balanced" // weights that make all classes count alike
)

// weighClasses replaces class_weights: balanced by numbers from the training data. A model that is not trained has no weights.
func (a *app) weighClasses(ctx context.Context, cfg *config.Config, rc runconfig.RunConfig, from columnSource) error {
	if cfg.Model.Params[paramWeights] != balanced {
		return nil
	}
	cfg.Model.Params = maps.Clone(cfg.Model.Params)
	if !from.trains {
		delete(cfg.Model.Params, paramWeights)
		return nil
	}
	if rc.ClusterSpec().Len() > 0 {
		return usage(errors.New("balanced is for one task: in a cluster write the numbers, which train logs where it runs alone"))
	}
	counts, err := a.classCounts(ctx, cfg, from.rows)
	if err != nil {
		return err
	}
	weights := balancedWeights(counts)
	a.log.Info("balanced classes", paramWeights, weights)
	list := make([]any, len(weights))
	for i, w := range weights {
		list[i] = w
	}
	cfg.Model.Params[paramWeights] = list
	return nil
}

// balancedWeights are the mean count divided by the count of each class, as in scikit-learn; 1 for a class without rows.
func balancedWeights(counts []int) []float64 {
	all := 0
	for _, n := range counts {
		all += n
	}
	out := make([]float64, len(counts))
	for i, n := range counts {
		if out[i] = 1; n > 0 {
			out[i] = float64(all) / float64(len(counts)*n)
		}
	}
	return out
}

// classCounts counts the rows of each class in the training data: in its first rows, or in all if rows is 0.
func (a *app) classCounts(ctx context.Context, cfg *config.Config, rows int64) ([]int, error) {
	in := cfg.Resolve(cfg.Train.Input)
	var labels []string
	for _, c := range in.AllColumns() {
		if c.Role == inputs.Label {
			labels = append(labels, c.Name)
		}
	}
	if len(labels) != 1 {
		return nil, usage(fmt.Errorf("balanced needs one column of role label in train.input.columns, got %d: write the numbers", len(labels)))
	}
	if rows > 0 && (in.Take == 0 || in.Take > rows) {
		in.Take = rows
	}
	count, _ := classesOf(cfg.Model.Name, cfg.Model.Params)
	r := params.Read("", cfg.Model.Params)
	counts, words := make([]int, max(params.Get(r, count, "a whole number", 2, params.Integer), 2)), r.Words(paramVocabulary)
	if err := r.Err(); err != nil {
		return nil, usage(err)
	}
	ds, err := a.rowsOnce(ctx, cfg, in, labels)
	if err != nil {
		return nil, err
	}
	return counts, each(ctx, ds, func(rec arrow.Record) error {
		column := rec.Column(0)
		for i := range column.Len() {
			id, err := classID(foldValueText(column, i), words)
			if err != nil || id < 0 || id >= len(counts) {
				return fmt.Errorf("label %q is %.40q: expected one of %d classes", labels[0], foldValueText(column, i), len(counts))
			}
			counts[id]++
		}
		return nil
	})
}

// classID is the id of a label, which is a word of the vocabulary if there is one.
func classID(label string, words []string) (int, error) {
	if words != nil {
		return slices.Index(words, label), nil
	}
	v, err := strconv.ParseFloat(label, 64)
	return int(v), err
}
