package rule

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// The kinds of averages, and the names of their slots in checkpoints.
const (
	EMA = "ema"
	SWA = "swa"

	emaSlot = "ExponentialMovingAverage" // the name that tf.train.ExponentialMovingAverage uses
	swaSlot = "StochasticWeightAverage"
)

// Averaging says which average of a variable's values to keep. Updates count from 0.
type Averaging struct {
	Kind   string  // EMA or SWA
	Decay  float64 // EMA: the weight of the old average, in [0, 1)
	Rising bool    // EMA: the n-th decay is at most (1+n)/(10+n), n from 0
	Start  int64   // the first value is taken after this update
	Every  int64   // number of updates between values, >= 1
}

// MostUpdates bounds counts of updates: float64 represents them exactly.
const MostUpdates = 1 << 40

// Check reports settings out of range: they may come from another process.
func (a Averaging) Check() error {
	if a.Kind != EMA && a.Kind != SWA || !(a.Decay >= 0 && a.Decay < 1) || a.Start < 0 || a.Start > MostUpdates || a.Every < 1 || a.Every > MostUpdates {
		return fmt.Errorf("averages %+v: expected %s or %s, a decay in [0, 1), a start from 0 and a period from 1 up to 2^40", a, EMA, SWA)
	}
	return nil
}

// Slot is the name of the average in checkpoints, after the variable's name and a slash.
func (a Averaging) Slot() string {
	if a.Kind == SWA {
		return swaSlot
	}
	return emaSlot
}

// Averaged is a rule that also keeps an average of the variable, as its last slot.
// The average starts with the variable's initial value and follows the variable up to Start.
type Averaged struct {
	Rule
	Averaging
}

// Traits are the rule's, except that the averages of all rows change.
func (r Averaged) Traits() Traits {
	t := r.Rule.Traits()
	t.AllRows = true
	return t
}

// Slots are the rule's, then the average.
func (r Averaged) Slots() []Slot {
	return append(r.Rule.Slots(), Slot{Own: r.Slot()})
}

// Update is the rule's, followed by average = decay*average + (1-decay)*variable, which is how Keras computes it.
func (r Averaged) Update(a *Application) []*graph.Node {
	own := *a
	last := len(a.Slots) - 1
	own.Slots = append([]graph.Output(nil), a.Slots[:last]...)
	nodes := r.Rule.Update(&own)
	keep := r.decay(Scalars{a.B, a.Scope}, a.Updates)
	take := Scalars{a.B, a.Scope}.Op("Sub", Scalars{a.B, a.Scope}.Number(1), keep)
	value := a.B.Read(a.variable(), a.kind(), append(nodes[:len(nodes):len(nodes)], a.Decayed...)...)
	next := a.binary("AddV2", a.binary("Mul", a.slot(last), a.cast(keep)), a.binary("Mul", value, a.cast(take)))
	return append(nodes, a.assign("AssignVariableOp", a.Slots[last], next))
}

// decay is the weight of the old average after an update: 0 before Start, and 1 if no value is taken.
func (r Averaged) decay(c Scalars, updates graph.Output) graph.Output {
	zero, one := c.Number(0), c.Number(1)
	since := c.Op("Sub", updates, c.Number(float64(r.Start)))
	raw := since
	if r.Start > 0 { // before Start the result is not used, but must not be invalid
		since = c.Op("Maximum", since, zero)
	}
	n := since
	var decay graph.Output
	if r.Every > 1 {
		n = c.Op("Floor", c.Op("RealDiv", since, c.Number(float64(r.Every))))
	}
	switch {
	case r.Kind == SWA:
		decay = c.Op("RealDiv", n, c.Op("AddV2", n, one))
	case r.Rising:
		decay = c.Op("Minimum", c.Number(r.Decay), c.Op("RealDiv", c.Op("AddV2", n, one), c.Op("AddV2", n, c.Number(10))))
	default:
		decay = c.Number(r.Decay)
	}
	if r.Every > 1 {
		left := c.Op("Sub", since, c.Op("Mul", n, c.Number(float64(r.Every))))
		decay = c.WhenLess(left, c.Number(0.5), decay, one)
	}
	if r.Start > 0 {
		decay = c.WhenLess(raw, zero, zero, decay)
	}
	return decay
}
