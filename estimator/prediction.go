package estimator

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Prediction is the model's output for one example: for each name of the Spec's
// predictions, a tensor without the batch dimension. It is a view of the results of its
// batch, and keeps them all in memory. It stays valid and unchanged for as long as the
// caller holds it. The zero Prediction has no names.
type Prediction struct {
	batch *predictedBatch
	row   int
}

// predictedBatch has the tensors of all names, row by row.
type predictedBatch struct {
	names   []string // in order
	tensors []tensor.Tensor
}

// PredictionOf returns a Prediction of the given tensors, for tests of code that uses
// predictions.
func PredictionOf(tensors map[string]*tensor.Tensor) Prediction {
	b := &predictedBatch{names: slices.Sorted(maps.Keys(tensors))}
	for _, name := range b.names {
		b.tensors = append(b.tensors, *tensors[name])
	}
	return Prediction{batch: b}
}

// Get returns the prediction of that name, nil for none.
func (p Prediction) Get(name string) *tensor.Tensor {
	for i, n := range p.Names() {
		if n == name {
			return p.at(i)
		}
	}
	return nil
}

// Names returns the names in order. The caller must not change them.
func (p Prediction) Names() []string {
	if p.batch == nil {
		return nil
	}
	return p.batch.names
}

// All yields each name and its prediction, in the order of the names.
func (p Prediction) All() iter.Seq2[string, *tensor.Tensor] {
	return func(yield func(string, *tensor.Tensor) bool) {
		for i, name := range p.Names() {
			if !yield(name, p.at(i)) {
				return
			}
		}
	}
}

func (p Prediction) at(i int) *tensor.Tensor {
	return &p.batch.tensors[p.row*len(p.batch.names)+i]
}

// predictedRows yields the rows of batches.
type predictedRows struct {
	session *session
	keys    []predicted
	names   []string
	shapes  [][]int // of one example's tensors, shared by all batches
	emit    func(Prediction) error
}

// newPredictedRows returns the rows of a session's batches, with the given outputs, which are sorted by
// name.
func newPredictedRows(s *session, keys []predicted, emit func(Prediction) error) *predictedRows {
	r := &predictedRows{session: s, keys: keys, shapes: make([][]int, len(keys)), emit: emit}
	for _, k := range keys {
		r.names = append(r.names, k.name)
	}
	return r
}

// next yields the rows of a replica's batch. They share one copy of the batch and one array of tensors,
// so that single examples allocate nothing.
func (r *predictedRows) next(replica, rows int) error {
	b := &predictedBatch{names: r.names, tensors: make([]tensor.Tensor, rows*len(r.keys))}
	for i, k := range r.keys {
		v := r.session.value(k.tensor, replica)
		if k.text != nil {
			var err error
			if v, err = k.text.decode(v); err != nil {
				return fmt.Errorf("prediction %s: %w", k.name, err)
			}
		}
		r.split(b, i, v, rows)
	}
	for row := range rows {
		if err := r.emit(Prediction{b, row}); err != nil {
			return err
		}
	}
	return nil
}

// split makes output i of every row a view of v's words, or of a copy of v's numbers, since these belong
// to the program.
func (r *predictedRows) split(b *predictedBatch, i int, v *tensor.Tensor, rows int) {
	if !slices.Equal(r.shapes[i], v.Shape[1:]) {
		r.shapes[i] = slices.Clone(v.Shape[1:])
	}
	bytes := tensor.New(tensor.Uint8, len(v.Bytes)).Bytes
	copy(bytes, v.Bytes)
	size, words := len(bytes)/rows, len(v.Strings)/rows
	for row := range rows {
		t := &b.tensors[row*len(r.keys)+i]
		t.DType, t.Shape = v.DType, r.shapes[i]
		t.Bytes = bytes[row*size : (row+1)*size : (row+1)*size]
		if words > 0 {
			t.Strings = v.Strings[row*words : (row+1)*words : (row+1)*words]
		}
	}
}
