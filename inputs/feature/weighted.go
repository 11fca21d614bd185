package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Weighted is weighted_categorical_column: ids whose weights come from another feature,
// with as many numbers as ids in every row.
type Weighted struct {
	Of        Categorical
	WeightKey string
}

// Name is like word_weighted_by_count.
func (c *Weighted) Name() string { return c.Of.Name() + "_weighted_by_" + c.WeightKey }

// String is like weighted(hash_bucket(word, 100), count).
func (c *Weighted) String() string { return fmt.Sprintf("weighted(%v, %s)", c.Of, c.WeightKey) }

// Buckets is the categorical column's number of ids.
func (c *Weighted) Buckets() int { return c.Of.Buckets() }

func (c *Weighted) check() error {
	switch c.Of.(type) {
	case nil:
		return fmt.Errorf("no categorical column")
	case *Weighted, *Sequence:
		return fmt.Errorf("%v cannot be weighted", c.Of)
	}
	return noKey(c.WeightKey)
}

func (c *Weighted) parents() []Column { return []Column{c.Of} }
func (c *Weighted) reads() []read {
	return []read{{key: c.WeightKey, kind: number, spec: ExampleSpec{Key: c.WeightKey, DType: tensor.Float32, VarLen: true}}}
}

func (c *Weighted) ids(b *batch) (*idList, error) {
	return b.ids(c, "", func(out *idList) (*idList, error) {
		l, err := idsOf(c.Of, b)
		if err != nil {
			return nil, err
		}
		w, err := b.floats(c.WeightKey)
		if err != nil {
			return nil, err
		}
		cells, err := b.cells(c.WeightKey)
		if err != nil {
			return nil, err
		}
		*out = idList{values: l.values, offsets: l.offsets, weights: sized(out.weights, len(l.values))}
		for row := range b.rows() {
			if err := c.weigh(b, out, l, cells, w, row); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// weigh writes the weights of a row. Some values of a feature may have no id; a dense weight is then found by the position of the value in
// its row.
func (c *Weighted) weigh(b *batch, out, ids *idList, cells *cells, w []float32, row int) error {
	from, to := int(out.offsets[row]), int(out.offsets[row+1])
	start, end := cells.span(row)
	first, values, placed := from, to-from, ids.at != nil && cells.offsets == nil
	if placed {
		first, values = ids.from.span(row)
		values -= first
	}
	if values != end-start {
		return &inputs.RowError{Column: c.Name(), Row: b.first + int64(row),
			Err: fmt.Errorf("%d ids but %d weights in %q: expected a weight for each", values, end-start, c.WeightKey)}
	}
	for i := from; i < to; i++ {
		v := start + i - first
		if placed {
			v = start + int(ids.at[i]) - first
		}
		if out.weights[i] = w[v]; w[v] != w[v] || cells.missing != nil && cells.missing[v] {
			return &inputs.RowError{Column: c.Name(), Row: b.first + int64(row), Value: cells.show(v), Err: fmt.Errorf("not a weight: correct feature %q", c.WeightKey)}
		}
	}
	return nil
}
