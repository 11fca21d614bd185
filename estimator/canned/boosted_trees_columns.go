package canned

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/runtime/trees"
)

// treeColumns returns the dense columns that a boosted trees model reads: bucketized
// columns as numbers, and categorical columns as indicators.
func treeColumns(columns []feature.Column) ([]feature.Column, error) {
	var dense []feature.Column
	added := map[string]bool{}
	add := func(c feature.Column) {
		if text := c.String(); !added[text] {
			added[text] = true
			dense = append(dense, c)
		}
	}
	// The columns are checked as for a linear model, which accepts the same columns.
	if _, err := feature.New(feature.Columns{Linear: columns}); err != nil {
		return nil, fmt.Errorf("boosted trees: %w", cmp.Or(errors.Unwrap(err), err))
	}
	for _, c := range columns {
		switch c := c.(type) {
		case *feature.Numeric, *feature.Indicator:
			add(c)
		case *feature.Bucketized:
			add(c.Of)
		case *feature.Embedding, *feature.SequenceNumeric, *feature.Sequence:
			return nil, fmt.Errorf("column %q: boosted trees have no use for %s: expected numeric, bucketized and categorical columns", c.Name(), c)
		case feature.Categorical:
			add(&feature.Indicator{Of: c})
		default:
			return nil, fmt.Errorf("column %q: boosted trees cannot split %s: expected numeric, bucketized and categorical columns", c.Name(), c)
		}
	}
	return dense, nil
}

// treeFeatures returns the features of columns, in the model's input [batch, width].
func treeFeatures(columns []feature.Column, in []feature.Input) (features []trees.Feature, width int) {
	first := map[string]int{}
	for _, i := range in {
		first[i.Column] = width
		width += i.Width
	}
	for _, c := range columns {
		switch c := c.(type) {
		case *feature.Numeric:
			features = append(features, numbersOf(c, c.Name(), first[c.Name()], nil)...)
		case *feature.Bucketized:
			boundaries := make([]float32, len(c.Boundaries))
			for i, b := range c.Boundaries {
				boundaries[i] = float32(b)
			}
			features = append(features, numbersOf(c.Of, c.Name(), first[c.Of.Name()], boundaries)...)
		case *feature.Indicator:
			features = append(features, trees.Feature{Name: c.Name(), First: first[c.Name()], Width: c.Width()})
		case feature.Categorical:
			ind := &feature.Indicator{Of: c}
			features = append(features, trees.Feature{Name: c.Name(), First: first[ind.Name()], Width: ind.Width()})
		}
	}
	return features, width
}

// numbersOf returns the features of a numeric column, one for each number.
func numbersOf(c *feature.Numeric, name string, first int, boundaries []float32) []trees.Feature {
	out := make([]trees.Feature, c.Width())
	for i := range out {
		out[i] = trees.Feature{Name: name, First: first + i, Boundaries: boundaries}
		if len(out) > 1 {
			out[i].Name = fmt.Sprintf("%s[%d]", name, i)
		}
	}
	return out
}
