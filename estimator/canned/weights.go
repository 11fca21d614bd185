package canned

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// Weight is the contribution of one value of a column to the logits of a linear
// model.
type Weight struct {
	Column string    `json:"column"` // TensorFlow's name, "bias" for the bias
	Value  string    `json:"value"`  // the vocabulary's entry, "[30, 50)", "bucket 7", "oov 0", or the index of a number; "" for the bias
	Weight []float64 `json:"weight"` // for each logit
}

// LinearWeights returns the named weights of the linear part, in the order of the
// columns, without weights that are all zero. read returns a variable's value, as
// Estimator.VariableValue does. Without a linear part there are none.
func (m *Model) LinearWeights(read func(variable string) (*tensor.Tensor, error)) ([]Weight, error) {
	in, err := m.plan.Linear(m.head.LogitsDimension())
	if err != nil || len(in) == 0 {
		return nil, err
	}
	bias := feature.Variable{Name: "bias_weights"}
	x, err := read(bias.In(feature.LinearScope))
	if err != nil {
		return nil, err
	}
	out := []Weight{{Column: "bias", Weight: rowOf(x)}}
	for _, input := range in {
		i := slices.IndexFunc(m.columns.Linear, func(c feature.Column) bool { return c.Name() == input.Column })
		if i < 0 {
			return nil, fmt.Errorf("column %q is not among the model's", input.Column)
		}
		if x, err = read(input.Kernel.In(feature.LinearScope)); err != nil {
			return nil, err
		}
		names, err := valueNames(m.columns.Linear[i])
		if err != nil {
			return nil, err
		}
		for row := range x.Shape[0] {
			w := rowOf(x.Row(row))
			if slices.ContainsFunc(w, func(v float64) bool { return v != 0 }) {
				out = append(out, Weight{input.Column, names(row), w})
			}
		}
	}
	return out, nil
}

func rowOf(x *tensor.Tensor) []float64 {
	out := make([]float64, x.Len())
	for i := range out {
		out[i] = x.Float(i)
	}
	return out
}

// valueNames returns the names of the rows of a column's weights.
func valueNames(c feature.Column) (func(row int) string, error) {
	switch c := c.(type) {
	case *feature.Vocabulary:
		words := slices.Clone(c.Values)
		for _, n := range c.Ints {
			words = append(words, strconv.FormatInt(n, 10))
		}
		return entryName(words), nil
	case *feature.VocabularyFile:
		f, err := atomicfile.Open(c.File)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name(), err)
		}
		defer f.Close()
		words, err := feature.ReadVocabulary(f, c.Size)
		return entryName(words), err
	case *feature.Bucketized:
		return func(row int) string { return interval(c.Boundaries, row) }, nil
	case *feature.Weighted:
		return valueNames(c.Of)
	case *feature.Words:
		if len(c.Values) > 0 {
			return entryName(c.Values), nil
		}
		return func(row int) string { return fmt.Sprintf("bucket %d", row) }, nil
	case *feature.HashBucket, *feature.Crossed:
		return func(row int) string { return fmt.Sprintf("bucket %d", row) }, nil
	}
	return strconv.Itoa, nil
}

// entryName names entries of a vocabulary, and the buckets after them.
func entryName(words []string) func(int) string {
	return func(row int) string {
		if row < len(words) {
			return words[row]
		}
		return fmt.Sprintf("oov %d", row-len(words))
	}
}

// interval returns the bucket of a row. The buckets of a second number follow those of the first.
func interval(boundaries []float64, row int) string {
	i := row % (len(boundaries) + 1)
	switch {
	case i == 0:
		return fmt.Sprintf("< %g", boundaries[0])
	case i == len(boundaries):
		return fmt.Sprintf(">= %g", boundaries[i-1])
	}
	return fmt.Sprintf("[%g, %g)", boundaries[i-1], boundaries[i])
}
