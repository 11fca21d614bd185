package canned_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/models/layers"
)

// sequences are columns of examples: []int64 labels, [][]int64 and [][]float32 sequences.
type sequences struct {
	label string
	cols  map[string]any
}

// inputFn is an input_fn of the columns, endless in training.
func (q sequences) inputFn(batch int) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		var columns []inputs.Column
		names := slices.Sorted(maps.Keys(q.cols))
		if ic.Mode == inputs.Predict {
			names = slices.DeleteFunc(names, func(n string) bool { return n == q.label })
		}
		for _, name := range names {
			c := inputs.Column{Name: name, DType: graph.Int64, Role: inputs.Feature}
			if name == q.label {
				c.Role = inputs.Label
			}
			switch q.cols[name].(type) {
			case [][]int64:
				c.Ragged = true
			case [][]float32:
				c.Ragged, c.DType = true, graph.Float32
			case []float32:
				c.DType = graph.Float32
			}
			columns = append(columns, c)
		}
		s, err := inputs.NewSchema(columns...)
		if err != nil {
			return nil, err
		}
		b := array.NewRecordBuilder(memory.NewGoAllocator(), s.Arrow())
		for i, name := range names {
			appendColumn(b.Field(i), q.cols[name])
		}
		ds, err := inputs.Records(s, []arrow.Record{b.NewRecord()}, memory.NewGoAllocator())
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(batch, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(batch, false)), nil
	})
}

func appendColumn(b array.Builder, column any) {
	list, _ := b.(*array.ListBuilder)
	switch c := column.(type) {
	case []int64:
		b.(*array.Int64Builder).AppendValues(c, nil)
	case []float32:
		b.(*array.Float32Builder).AppendValues(c, nil)
	case [][]int64:
		for _, x := range c {
			list.Append(true)
			list.ValueBuilder().(*array.Int64Builder).AppendValues(x, nil)
		}
	case [][]float32:
		for _, x := range c {
			list.Append(true)
			list.ValueBuilder().(*array.Float32Builder).AppendValues(x, nil)
		}
	}
}

// bits are sequences of zeros and ones of up to longest steps; the label is the last.
func bits(n, longest int) sequences {
	r := rand.New(rand.NewPCG(1, 2))
	seqs, labels := make([][]int64, n), make([]int64, n)
	for i := range seqs {
		for range 1 + r.IntN(longest) {
			seqs[i] = append(seqs[i], int64(r.IntN(2)))
		}
		labels[i] = seqs[i][len(seqs[i])-1]
	}
	return sequences{"label", map[string]any{"bits": seqs, "label": labels}}
}

func TestRNNLearnsTheLastToken(t *testing.T) {
	column := &feature.Embedding{Of: &feature.Sequence{Of: &feature.Identity{Key: "bits", Size: 2}}, Dimension: 3}
	for _, cell := range []layers.Cell{layers.SimpleRNN, layers.LSTM, layers.GRU} {
		t.Run(string(cell), func(t *testing.T) {
			e := ok(canned.RNNClassifier{SequenceColumns: []feature.Column{column}, Units: []int{8}, CellType: cell}.New(scratch(t)...))
			defer e.Close()
			ok(e.Train(t.Context(), bits(256, 9).inputFn(32), estimator.Steps(400)))
			r := ok(e.Evaluate(t.Context(), bits(256, 9).inputFn(32)))
			if a, _ := r.Scalar("accuracy"); !(a > 0.95) {
				t.Errorf("accuracy %v: expected more than 0.95", a)
			}
		})
	}
}
