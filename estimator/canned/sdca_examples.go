package canned

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// exampleState is the state of one example after a step.
type exampleState struct {
	id                       int64
	old, dual                float64 // the dual variable before and after
	primal, dualLoss, weight float64 // before the step, for the duality gap
}

// stateBytes is the length of a record.
const stateBytes = 6 * 8

func (x exampleState) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(x.id))
	for _, v := range []float64{x.old, x.dual, x.primal, x.dualLoss, x.weight} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// take reads a record and returns the remaining records.
func (x *exampleState) take(b []byte) ([]byte, error) {
	if len(b) < stateBytes {
		return nil, errors.New("a record of an example is too short")
	}
	x.id = int64(binary.LittleEndian.Uint64(b))
	for i, v := range []*float64{&x.old, &x.dual, &x.primal, &x.dualLoss, &x.weight} {
		*v = math.Float64frombits(binary.LittleEndian.Uint64(b[8+8*i:]))
	}
	return b[stateBytes:], nil
}

// exampleTable is a hash table with open addressing in two variables: the fingerprint
// of each example, and four numbers for it.
type exampleTable struct {
	ids   []int64
	state []float32
}

// place returns where an example is, or is to be; false if the table is full.
func (t exampleTable) place(id int64) (int, bool) {
	n := uint64(len(t.ids))
	for i := range n {
		at := (uint64(id) + i) % n
		if t.ids[at] == id || t.ids[at] == 0 {
			return int(at), true
		}
	}
	return 0, false
}

// dual returns the dual variable of an example, 0 for a new one.
func (t exampleTable) dual(id int64) float64 {
	at, ok := t.place(id)
	if !ok {
		return 0
	}
	return float64(t.state[4*at])
}

// room returns an example's place, or an error if the table is full.
func (t exampleTable) room(id int64) (int, error) {
	at, ok := t.place(id)
	if !ok {
		return 0, fmt.Errorf("there are more than %d different examples: raise num_examples of the optimizer sdca, in another model_dir", (2*len(t.ids)+1)/3)
	}
	return at, nil
}

// add stores an example's new state. It adds the change that the replica made to the
// dual variable, as is done for the weights. So they stay consistent even if two
// replicas worked on one example concurrently. totals are the totals of the losses and
// the weight.
func (t exampleTable) add(at int, x exampleState, totals []float64) {
	t.ids[at] = x.id
	s := t.state[4*at : 4*at+4]
	s[0] += float32(x.dual - x.old)
	for i, v := range [...]float64{x.primal, x.dualLoss, x.weight} {
		totals[i] += float64(float32(v)) - float64(s[1+i])
		s[1+i] = float32(v)
	}
}
