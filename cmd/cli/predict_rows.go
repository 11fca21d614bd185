package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/tensor"
)

// The predictions of classifiers that top_k uses, and the ones it makes.
const (
	keyProbabilities = "probabilities"
	keyClasses       = "all_classes"
	keyTopClasses    = "top_classes"
	keyTop           = "top_probabilities"
)

// predictedRows are the rows that predict writes: columns of the input, then predictions.
type predictedRows struct {
	columns *passedColumns
	keys    []string // predictions to write; empty: all, but with top only the best classes
	top     int      // number of best classes; 0: no such columns
}

// of yields the row of each prediction.
func (r predictedRows) of(ctx context.Context, est *estimator.Estimator, input estimator.InputFn, checkpoint string) iter.Seq2[[]namedValue, error] {
	keys := r.keys
	if r.top > 0 {
		keys = slices.Compact(slices.Sorted(slices.Values(slices.Concat(keys, []string{keyProbabilities, keyClasses}))))
	}
	predictions := est.Predict(ctx, r.columns.input(input), estimator.CheckpointPath(checkpoint), estimator.PredictKeys(keys...))
	return func(yield func([]namedValue, error) bool) {
		for p, err := range predictions {
			var row []namedValue
			if err == nil {
				row, err = r.row(p)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// row is the row to write for a prediction.
func (r predictedRows) row(p estimator.Prediction) ([]namedValue, error) {
	out, err := r.columns.take()
	if err != nil {
		return nil, err
	}
	for name, v := range p.All() {
		if r.top == 0 || slices.Contains(r.keys, name) {
			out = append(out, namedValue{name, v})
		}
	}
	if r.top > 0 {
		classes, probabilities, err := best(p, r.top)
		if err != nil {
			return nil, fmt.Errorf("predict.top_k: %w", err)
		}
		out = append(out, namedValue{keyTopClasses, classes}, namedValue{keyTop, probabilities})
	}
	return out, uniqueNames(out)
}

// best returns the names and probabilities of the n most probable classes; among equal ones the first class comes first.
func best(p estimator.Prediction, n int) (classes, probabilities *tensor.Tensor, err error) {
	each, names := p.Get(keyProbabilities), p.Get(keyClasses)
	if len(each.Shape) != 1 || names.Len() != each.Len() {
		return nil, nil, fmt.Errorf("probabilities of shape %v and %d classes: expected a model with one probability for each class", each.Shape, names.Len())
	}
	order := make([]int, each.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(each.Float(b), each.Float(a)) })
	order = order[:min(n, len(order))]
	classes = &tensor.Tensor{DType: tensor.String, Shape: []int{len(order)}}
	probabilities = tensor.New(tensor.Float32, len(order))
	for i, k := range order {
		classes.Strings = append(classes.Strings, className(names, k))
		tensor.Values[float32](probabilities)[i] = float32(each.Float(k))
	}
	return classes, probabilities, nil
}

// className is the name of a class, which may be a number.
func className(names *tensor.Tensor, k int) []byte {
	if names.DType == tensor.String {
		return names.Strings[k]
	}
	return strconv.AppendInt(nil, names.Int(k), 10)
}

// uniqueNames fails if a column of the input and a prediction have the same name.
func uniqueNames(row []namedValue) error {
	for i, v := range row {
		if slices.ContainsFunc(row[:i], func(w namedValue) bool { return w.name == v.name }) {
			return fmt.Errorf("predict.columns: %s is a column of the input and a prediction: choose among the predictions by predict.keys", v.name)
		}
	}
	return nil
}

// checkTop fails for an impossible number of classes.
func checkTop(n int) error {
	if n < 0 {
		return errors.New("predict.top_k: expected a positive number of classes, or 0")
	}
	return nil
}
