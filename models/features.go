package models

import (
	"fmt"
	"strings"

	G "gorgonia.org/gorgonia"
)

// Feature is one named input: a dense node [batch, ...], or a ragged one.
type Feature struct {
	Name   string
	Dense  *G.Node
	Ragged *Ragged
}

// Features is an ordered set of named features and, optionally, one weight per example.
type Features struct {
	b       *Builder
	list    []Feature
	weights *G.Node
}

// NewFeatures returns the set of the given features, in that order.
func NewFeatures(c Context, list ...Feature) Features { return Features{b: c.Core(), list: list} }

// WithWeights returns the set with a weight per example, [batch].
func (f Features) WithWeights(w *G.Node) Features { f.weights = w; return f }

// Weights returns the weights of the examples, nil for none.
func (f Features) Weights() *G.Node { return f.weights }

// Len returns the number of features.
func (f Features) Len() int { return len(f.list) }

// All returns the features in order; do not modify the slice.
func (f Features) All() []Feature { return f.list }

// Names returns the names in order.
func (f Features) Names() []string {
	out := make([]string, len(f.list))
	for i, e := range f.list {
		out[i] = e.Name
	}
	return out
}

// Dense returns the dense feature of that name. If it is unknown or ragged, the model
// fails with an error that lists the features, and the result is nil.
func (f Features) Dense(name string) *G.Node {
	for _, e := range f.list {
		if e.Name == name && e.Dense != nil {
			return e.Dense
		}
	}
	f.fail(fmt.Errorf("no dense feature %q: the input has %s", name, f.describe()))
	return nil
}

// Only returns the feature of a set with a single, dense feature; other sets fail the model.
func (f Features) Only() *G.Node {
	if len(f.list) == 1 && f.list[0].Dense != nil {
		return f.list[0].Dense
	}
	f.fail(fmt.Errorf("expected exactly one dense feature or label, the input has %s", f.describe()))
	return nil
}

func (f Features) fail(err error) {
	if f.b != nil {
		f.b.Fail(err)
	}
}

func (f Features) describe() string {
	if len(f.list) == 0 {
		return "none"
	}
	return strings.Join(f.Names(), ", ")
}
