package estimator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// An Encoder turns a column of the input, which may be text, into the numbers that a
// program computes with. It runs on the host each time that a batch is fed.
type Encoder struct {
	DType tensor.DType // of the result; not String
	Shape []int        // of one example's result; empty for a scalar
	// Encode sets dst, [rows, Shape...] and initially zero, from the column's values.
	// Errors should name the value and its row, preferably by an inputs.RowError, which
	// is reported with the row's place in the files. Several goroutines may call Encode
	// concurrently.
	Encode func(dst *tensor.Tensor, column inputs.NamedTensor) error
}

// encoded is a leaf of the program that is fed an encoder's result.
type encoded struct {
	node    *G.Node
	column  int // of the columns passed to the model_fn
	encoder *Encoder
}

// Encode returns a node [batch, e.Shape...] that is fed e's encoding of a column. The
// column is given as the node that the model_fn got, a ragged one as the node of its
// values. A column that is only encoded may be text.
func (mc *ModelContext) Encode(column *G.Node, e Encoder) *G.Node {
	if mc.Failed() {
		return nil
	}
	i := slices.Index(mc.leaves, column)
	if i < 0 || column == nil {
		mc.Failf("encode %v: it is no column of the input: give a feature or a label as the model_fn got it", column)
		return nil
	}
	if e.DType == tensor.String || e.Encode == nil {
		mc.Failf("encode column %q: expected an encoder to numbers, got one to %v", mc.columns[i].Name, e.DType)
		return nil
	}
	shape := append([]int{mc.Batch()}, e.Shape...)
	n := mc.Input("encoded/"+mc.columns[i].Name, e.DType, shape...)
	mc.encoded = append(mc.encoded, encoded{n, i, &e})
	return n
}

// IsColumn reports whether a node is a column of the input, so that Encode accepts
// it.
func (mc *ModelContext) IsColumn(n *G.Node) bool { return n != nil && slices.Contains(mc.leaves, n) }

// feed returns the feed of an encoded leaf: its column, with the encoder's type.
func (e encoded) feed(columns []inputs.Column, out graph.Output) feed {
	c := columns[e.column]
	c.DType, c.Shape, c.Ragged, c.Default = e.encoder.DType, e.encoder.Shape, false, nil
	return feed{column: c, output: out, encoder: e.encoder}
}

// run encodes a column of rows rows into dst, whose memory it reuses.
func (e *Encoder) run(dst *tensor.Tensor, column inputs.NamedTensor, rows int) error {
	dst.DType = e.DType
	dst.Shape = append(append(dst.Shape[:0], rows), e.Shape...)
	n := dst.Len() * e.DType.Size()
	dst.Bytes = slices.Grow(dst.Bytes[:0], n)[:n]
	clear(dst.Bytes)
	err := e.Encode(dst, column)
	if err != nil && !errors.As(err, new(*inputs.RowError)) {
		return fmt.Errorf("column %q: %w", column.Name, err)
	}
	return err
}
