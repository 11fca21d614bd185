package models

import G "gorgonia.org/gorgonia"

// Labels are the targets, an ordered set of named columns, empty when predicting.
type Labels struct{ set Features }

// NewLabels returns the set of the given columns, in that order.
func NewLabels(c Context, list ...Feature) Labels { return Labels{NewFeatures(c, list...)} }

// Len returns the number of labels.
func (l Labels) Len() int { return l.set.Len() }

// All returns the labels in order; do not modify the slice.
func (l Labels) All() []Feature { return l.set.All() }

// Names returns the names in order.
func (l Labels) Names() []string { return l.set.Names() }

// Dense returns the dense label of that name. If it is unknown or ragged, the model
// fails with an error that lists the labels, and the result is nil.
func (l Labels) Dense(name string) *G.Node { return l.set.Dense(name) }

// Only returns the label of a set with a single, dense label; other sets fail the model.
func (l Labels) Only() *G.Node { return l.set.Only() }

// Ragged returns the ragged label of that name. If it is unknown or dense, the model
// fails with an error that lists the labels, and the result is nil.
func (l Labels) Ragged(name string) *Ragged { return l.set.Ragged(name) }
