package canned

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// sdcaBatch is a batch as Collect reads it.
type sdcaBatch struct {
	step     *sdcaStep
	labels   []float32
	weights  []float32
	ids      []int64
	columns  []sdcaArgs
	unshrunk []float32 // of all columns
	row      []nonzero // scratch
}

// sdcaArgs are the arguments of a column.
type sdcaArgs struct {
	sdcaColumn
	at      int // where its weights begin in the sums
	dense   []float32
	values  any // []int64 or []int32
	offsets []int64
	weights []float32
}

// batch checks the arguments and gathers the weights.
func (s *sdcaStep) batch(vars optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) (*sdcaBatch, error) {
	b := &sdcaBatch{step: s, labels: tensor.Values[float32](args[0]), weights: tensor.Values[float32](args[1]), ids: tensor.Values[int64](args[2])}
	if len(b.labels) != len(b.ids) || len(b.weights) != len(b.ids) {
		return nil, fmt.Errorf("%d labels and %d weights of %d examples: expected one each", len(b.labels), len(b.weights), len(b.ids))
	}
	for i, w := range b.weights {
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return nil, fmt.Errorf("row %d of its batch: weight %v: expected a finite one >= 0", i, w)
		}
	}
	args = args[3:]
	for _, c := range s.Columns {
		a := sdcaArgs{sdcaColumn: c, at: len(b.unshrunk)}
		switch {
		case c.Dense:
			a.dense, args = tensor.Values[float32](args[0]), args[1:]
		case !c.Bias:
			if a.values = tensor.Values[int64](args[0]); args[0].DType == tensor.Int32 {
				a.values = tensor.Values[int32](args[0])
			}
			a.offsets, args = tensor.Values[int64](args[1]), args[2:]
			if c.Weighted {
				a.weights, args = tensor.Values[float32](args[0]), args[1:]
			}
		}
		b.columns = append(b.columns, a)
		b.unshrunk = append(b.unshrunk, tensor.Values[float32](vars.Value(c.Variable+"_unshrunk"))...)
	}
	if len(b.unshrunk) != len(t.Sums) {
		return nil, fmt.Errorf("%d weights: expected %d", len(b.unshrunk), len(t.Sums))
	}
	s.examples = exampleTable{tensor.Values[int64](vars.Value(sdcaIDs)), tensor.Values[float32](vars.Value(sdcaState))}
	return b, nil
}

// random returns a generator that depends only on the seed, the batch and the current
// weights.
func (b *sdcaBatch) random() *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write(appendFloats(nil, b.unshrunk[max(len(b.unshrunk)-64, 0):])) // never fails
	first := int64(0)
	if len(b.ids) > 0 {
		first = b.ids[0]
	}
	return rand.New(rand.NewPCG(uint64(b.step.Seed)^h.Sum64(), uint64(first)))
}

// label returns a label in the form that the loss takes.
func (b *sdcaBatch) label(i int) (float64, error) {
	y := float64(b.labels[i])
	if b.step.Loss == squaredLoss {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return 0, fmt.Errorf("row %d of its batch: label %v: expected a finite number", i, y)
		}
		return y, nil
	}
	if y != 0 && y != 1 {
		return 0, fmt.Errorf("row %d of its batch: label %v: expected 0 or 1", i, y)
	}
	return 2*y - 1, nil
}

// features returns the nonzero features of an example, each once. The result is valid
// until the next call. Ids that the column does not have, for unknown words, are ignored.
func (b *sdcaBatch) features(i int) []nonzero {
	b.row = b.row[:0]
	for _, c := range b.columns {
		switch {
		case c.Bias:
			b.row = append(b.row, nonzero{c.at, 1})
		case c.Dense:
			for j, v := range c.dense[i*c.Rows : (i+1)*c.Rows] {
				if v != 0 {
					b.row = append(b.row, nonzero{c.at + j, float64(v)})
				}
			}
		default:
			b.addIDs(c, i)
		}
	}
	return b.row
}

func (b *sdcaBatch) addIDs(c sdcaArgs, i int) {
	from := len(b.row)
	for k := c.offsets[i]; k < c.offsets[i+1]; k++ {
		id, v := int64(0), 1.0
		switch ids := c.values.(type) {
		case []int64:
			id = ids[k]
		case []int32:
			id = int64(ids[k])
		}
		if c.weights != nil {
			v = float64(c.weights[k])
		}
		if id >= 0 && id < int64(c.Rows) {
			b.row = append(b.row, nonzero{c.at + int(id), v})
		}
	}
	if len(b.row)-from < 2 {
		return
	}
	slices.SortFunc(b.row[from:], func(x, y nonzero) int { return cmp.Compare(x.at, y.at) })
	last := from
	for _, f := range b.row[from+1:] {
		if f.at == b.row[last].at {
			b.row[last].value += f.value
			continue
		}
		last++
		b.row[last] = f
	}
	b.row = b.row[:last+1]
}
