package models

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Ragged is a feature with a varying number of values per example. Values
// [capacity*batch] has the values of all examples, concatenated: example i has
// Values[Offsets[i]:Offsets[i+1]]. Offsets is int64 [batch+1]. After the last
// example's values, Values is padded with -1 for integers and 0 for other types.
// Weights, one per value, may be nil.
//
// If a batch has more values, the Estimator builds the model again with a larger
// capacity.
type Ragged struct {
	Values, Offsets, Weights *G.Node

	input *RaggedInput // nil for a label, which only an encoder can read
	width int          // values of a step; 0 means 1
}

// RaggedInput is a ragged column that is fed, and what the model requires of it.
type RaggedInput struct {
	Name            string // the column's
	Values, Offsets *G.Node
	Capacity        int // the number of values per example, on average, for which Values has room
	Length          int // the result of MaxLength: no example has more steps

	Limit  int64  // if not 0, every value must be below it
	Step   int    // values per step if the model asked for MaxLength or SequenceLengths; else 0
	Padded bool   // the model depends on Length
	Like   string // the column that must have equal offsets, "" for none
}

// RaggedSize is the size of a ragged column for which a model is built.
type RaggedSize struct {
	Capacity int // values per example, on average
	Length   int // steps of the longest example
}

// Ragged adds the two leaves of a ragged column: see the type.
func (b *Builder) Ragged(name string, d tensor.DType, size RaggedSize) *Ragged {
	r := &Ragged{input: &RaggedInput{Name: name, Capacity: max(size.Capacity, 1), Length: max(size.Length, 1)}}
	r.Values = b.Input("features/"+name, d, r.input.Capacity*b.Batch())
	r.Offsets = b.Input("features/"+name+"/offsets", tensor.Int64, b.Batch()+1)
	r.input.Values, r.input.Offsets = r.Values, r.Offsets
	b.ragged = append(b.ragged, r.input)
	return r
}

// RaggedInputs returns the ragged columns in the order in which they were made.
func (b *Builder) RaggedInputs() []*RaggedInput { return b.ragged }

// Name is the column's name, "" if the feature is not fed as it is.
func (r *Ragged) Name() string {
	if r.input == nil {
		return ""
	}
	return r.input.Name
}

// Steps returns r as a sequence of steps of width values each.
func (r *Ragged) Steps(width int) *Ragged {
	s := *r
	s.width = width
	if s.input != nil && width > 0 {
		s.input.Step = width
	}
	return &s
}

// Width is the number of values of a step, 1 unless Steps said otherwise.
func (r *Ragged) Width() int { return max(r.width, 1) }

// MaxLength returns a number of steps, a power of two, that no example exceeds. It
// records that the model depends on it: the model is built again for longer examples.
func (r *Ragged) MaxLength() int {
	if r.input == nil {
		return 1
	}
	r.input.Padded, r.input.Step = true, r.Width()
	return r.input.Length
}

// Below requires every value to be below limit. For a batch with other values the
// Estimator returns an error that names column, row and value.
func (r *Ragged) Below(limit int) {
	if r.input != nil && (r.input.Limit == 0 || int64(limit) < r.input.Limit) {
		r.input.Limit = int64(limit)
	}
}

// WithWeights returns r with the values of another ragged column as weights. Each
// example must have the same number of values in both columns.
func (r *Ragged) WithWeights(c Context, w *Ragged) *Ragged {
	b := c.Core()
	if b.Failed() || r == nil {
		return r
	}
	if w == nil || w.input == nil || r.input == nil {
		b.Failf("weights of a ragged column: expected two ragged features")
		return r
	}
	if !slices.Equal(w.Values.Shape(), r.Values.Shape()) || !GraphType(w.Values.Dtype()).Float() {
		b.Failf("weights %q of column %q are %v%v: expected floats of shape %v", w.Name(), r.Name(), w.Values.Dtype(), w.Values.Shape(), r.Values.Shape())
		return r
	}
	w.input.Like = r.input.Name
	s := *r
	s.Weights = w.Values
	return &s
}

// Ragged returns the ragged feature of that name. If it is unknown or dense, the model
// fails with an error that lists the features, and the result is nil.
func (f Features) Ragged(name string) *Ragged {
	for _, e := range f.list {
		if e.Name == name && e.Ragged != nil {
			return e.Ragged
		}
	}
	f.fail(fmt.Errorf("no ragged feature %q: the input has %s", name, f.describe()))
	return nil
}
