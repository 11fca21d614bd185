package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Sequence is sequence_categorical_column_with_...: the ids of an example are the
// steps of a sequence and keep their places; -1 is a step without an id.
type Sequence struct {
	Of Categorical // HashBucket, Vocabulary, VocabularyFile or Identity
}

// stepper is a column whose values can be steps.
type stepper interface {
	Categorical
	steps(b *batch) (*idList, error)
}

// Name is the categorical column's name.
func (c *Sequence) Name() string { return c.Of.Name() }

// String is like sequence(identity(movie, 1700)).
func (c *Sequence) String() string { return fmt.Sprintf("sequence(%v)", c.Of) }

// Buckets is the categorical column's number of ids.
func (c *Sequence) Buckets() int { return c.Of.Buckets() }

func (c *Sequence) check() error {
	if _, ok := c.Of.(stepper); !ok {
		return fmt.Errorf("%v cannot be a sequence: expected a hash bucket, vocabulary or identity column", c.Of)
	}
	return nil
}

func (c *Sequence) parents() []Column { return []Column{c.Of} }
func (c *Sequence) reads() []read     { return nil }

func (c *Sequence) ids(b *batch) (*idList, error) { return c.Of.(stepper).steps(b) }

// SequenceNumeric is sequence_numeric_column: the numbers of an example are steps
// of shape Shape. An incomplete last step is filled with Default.
type SequenceNumeric struct {
	Key        string
	Shape      []int // of one step; empty: [1]
	Default    float32
	Normalizer Normalizer // of the numbers in the data, not of Default
	AllowNaN   bool
}

// Name is the key.
func (c *SequenceNumeric) Name() string { return c.Key }

// String is like sequence_numeric(price).
func (c *SequenceNumeric) String() string {
	s := "sequence_numeric(" + c.Key + shapeText(c.Shape)
	if c.Default != 0 {
		s += fmt.Sprintf(", default=%g", c.Default)
	}
	if c.AllowNaN {
		s += ", allow_nan"
	}
	return s + c.Normalizer.String() + ")"
}

// Width is the number of numbers per step.
func (c *SequenceNumeric) Width() int { return shapeSize(c.Shape) }

func (c *SequenceNumeric) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if err := checkShape(c.Shape); err != nil {
		return err
	}
	return c.Normalizer.check(c.Width())
}

func (c *SequenceNumeric) parents() []Column { return nil }
func (c *SequenceNumeric) reads() []read {
	return []read{{key: c.Key, kind: number, spec: ExampleSpec{Key: c.Key, DType: tensor.Float32, VarLen: true}}}
}

// steps returns whole steps: row i has numbers offsets[i] to offsets[i+1]-1.
func (c *SequenceNumeric) steps(b *batch) ([]float32, []int32, error) {
	x, err := b.floats(c.Key)
	if err != nil {
		return nil, nil, err
	}
	cells, err := b.cells(c.Key)
	if err != nil {
		return nil, nil, err
	}
	w := c.Width()
	out, offsets := make([]float32, 0, len(x)), make([]int32, b.rows()+1)
	for row := range b.rows() {
		from, to := cells.span(row)
		at := len(out)
		out = append(out, x[from:to]...)
		c.Normalizer.apply(out[at:], w)
		for i := from; i < to; i++ {
			if cells.missing != nil && cells.missing[i] {
				return nil, nil, &inputs.RowError{Column: c.Key, Row: b.first + int64(row), Value: "null", Err: errMissing}
			}
		}
		if i := firstNaN(out[at:]); i >= 0 && !c.AllowNaN {
			return nil, nil, nanError(inputs.RowError{Column: c.Key, Row: b.first + int64(row), Element: i, Value: cells.show(from + i)})
		}
		for (len(out)-at)%w != 0 {
			out = append(out, c.Default)
		}
		offsets[row+1] = int32(len(out))
	}
	return out, offsets, nil
}
