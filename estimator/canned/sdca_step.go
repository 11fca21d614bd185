package canned

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// The variables that hold the state of the examples: fingerprints, 0 for a free place, and for each
// example the dual variable, the losses and the weight. Another variable holds their totals.
const (
	sdcaIDs    = "sdca/example_ids"
	sdcaState  = "sdca/example_state"
	sdcaTotals = "sdca/totals"
)

// sdcaStep is the step function of LinearSDCA. The sums are the changes of the
// unshrunk weights, column by column; the records are the changed examples.
type sdcaStep struct {
	Loss       string
	L1, L2     float64
	Partitions int
	Adaptive   bool
	Seed       int64
	Capacity   int
	Columns    []sdcaColumn
	loss       dualLoss
	examples   exampleTable
}

// sdcaColumn is a column with its weights [Rows, 1].
type sdcaColumn struct {
	Variable string
	Rows     int
	Dense    bool // an argument [batch, Rows]
	Bias     bool // no argument: 1 for each example
	Weighted bool // ids with weights: values, offsets and weights, else values and offsets
}

func init() {
	optimizers.RegisterStepFunction("sdca", func(config []byte) (optimizers.StepFunction, error) {
		s := &sdcaStep{}
		if err := json.Unmarshal(config, s); err != nil {
			return nil, err
		}
		switch s.Loss {
		case squaredLoss:
			s.loss = squared{}
		case logisticLoss:
			s.loss = logistic{}
		default:
			return nil, fmt.Errorf("loss %q: expected %s or %s", s.Loss, squaredLoss, logisticLoss)
		}
		if !(s.L2 > 0) || s.L1 < 0 || s.Partitions < 1 || s.Capacity < 1 || len(s.Columns) == 0 {
			return nil, fmt.Errorf("%s: not a configuration", config)
		}
		return s, nil
	})
}

// nonzero is one feature of an example: its value, and the place of its weight in the sums.
type nonzero struct {
	at    int
	value float64
}

func (s *sdcaStep) shrink(w float64) float64 {
	return math.Copysign(max(math.Abs(w)-s.L1/s.L2, 0), w)
}

// Begin always returns the same stamp: additions to the weights stay valid if other workers add theirs first.
func (s *sdcaStep) Begin(optimizers.StepVariables) (sums int, stamp int64, err error) {
	for _, c := range s.Columns {
		sums += c.Rows
	}
	return sums, 0, nil
}

// Collect makes one pass over the batch, example by example.
func (s *sdcaStep) Collect(vars optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) error {
	b, err := s.batch(vars, args, t)
	if err != nil {
		return err
	}
	order, err := s.order(b)
	if err != nil {
		return err
	}
	changed := make([]exampleState, len(b.ids))
	first := map[int64]int{} // an example that occurs twice continues from its new state
	used := make([]bool, len(b.ids))
	for _, i := range order {
		weight := float64(b.weights[i])
		y, err := b.label(i)
		if err != nil {
			return err
		}
		k, again := first[b.ids[i]]
		if !again {
			k = i
			first[b.ids[i]] = i
			changed[k] = exampleState{id: b.ids[i], old: s.examples.dual(b.ids[i])}
			changed[k].dual = changed[k].old
			used[k] = true
		}
		x := &changed[k]
		features := b.features(i)
		before, wx, norm := 0.0, 0.0, 0.0
		for _, f := range features {
			w := float64(b.unshrunk[f.at])
			before += f.value * s.shrink(w)
			wx += f.value * s.shrink(w+float64(s.Partitions)*t.Sums[f.at])
			norm += f.value * f.value
		}
		dual := s.loss.updated(y, wx, x.dual, float64(s.Partitions)*weight*norm/s.L2)
		if math.IsNaN(dual) || math.IsInf(dual, 0) {
			return fmt.Errorf("row %d of its batch: the prediction is %v: expected features that are finite numbers", i, wx)
		}
		x.primal, x.dualLoss, x.weight = weight*s.loss.primal(y, before), weight*s.loss.dual(y, x.dual), weight
		change := (dual - x.dual) * weight / s.L2
		for _, f := range features {
			t.Sums[f.at] += change * f.value
		}
		x.dual = dual
	}
	for i, x := range changed {
		if used[i] {
			t.Records = x.append(t.Records)
		}
	}
	return nil
}

// order returns the order of the examples, random and different in each pass. If
// adaptive, it draws as many examples by the distance of each dual variable from its
// optimum at the current prediction.
func (s *sdcaStep) order(b *sdcaBatch) ([]int, error) {
	r := b.random()
	out := r.Perm(len(b.ids))
	if !s.Adaptive || len(out) < 2 {
		return out, nil
	}
	gain, total := make([]float64, len(out)), 0.0
	for i := range gain {
		y, err := b.label(i)
		if err != nil {
			return nil, err
		}
		wx, norm := 0.0, 0.0
		for _, f := range b.features(i) {
			wx += f.value * s.shrink(float64(b.unshrunk[f.at]))
			norm += f.value * f.value
		}
		gain[i] = float64(b.weights[i]) * math.Abs(s.loss.slope(y, wx)+s.examples.dual(b.ids[i])) * math.Sqrt(norm+s.L2)
		total += gain[i]
	}
	if !(total > 0) {
		return out, nil
	}
	for i := range out {
		out[i] = draw(gain, r)
	}
	return out, nil
}

// Apply updates the weights and the state of the examples.
func (s *sdcaStep) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	at := 0
	for _, c := range s.Columns {
		unshrunk := tensor.Values[float32](vars.Change(c.Variable + "_unshrunk"))
		for i := range unshrunk {
			unshrunk[i] += float32(t.Sums[at+i])
		}
		at += c.Rows
	}
	for _, c := range s.Columns {
		unshrunk := tensor.Values[float32](vars.Value(c.Variable + "_unshrunk"))
		weights := vars.Change(c.Variable)
		if w := tensor.Values[float64](weights); w != nil {
			for i, u := range unshrunk {
				w[i] = s.shrink(float64(u))
			}
			continue
		}
		w := tensor.Values[float32](weights)
		for i, u := range unshrunk {
			w[i] = float32(s.shrink(float64(u)))
		}
	}
	if len(t.Records) == 0 {
		return nil
	}
	table := exampleTable{tensor.Values[int64](vars.Value(sdcaIDs)), tensor.Values[float32](vars.Value(sdcaState))}
	totals := tensor.Values[float64](vars.Change(sdcaTotals))
	for b := t.Records; len(b) > 0; {
		var x exampleState
		var err error
		if b, err = x.take(b); err != nil {
			return err
		}
		at, err := table.room(x.id)
		if err != nil {
			return err
		}
		if table.ids[at] != x.id {
			vars.ChangeRow(sdcaIDs, at)
		}
		vars.ChangeRow(sdcaState, at)
		table.add(at, x, totals)
	}
	return nil
}
