package session

import (
	"math/bits"

	"github.com/goestimator/goestimator/internal/eager"
	"github.com/goestimator/goestimator/internal/graph"
)

// feed is a tensor that the caller gives.
type feed struct {
	name string
	slot int
	typ  graph.Type // as the graph or, where that is silent, the signature has it
}

// check compares a tensor with what the feed takes.
func (f *feed) check(t *graph.Tensor) error {
	if t == nil {
		return invalid("input %q: expected %v %v, got nothing", f.name, f.typ.DType, f.typ.Shape)
	}
	ok := t.DType == f.typ.DType && (f.typ.Shape.UnknownRank || len(t.Shape) == len(f.typ.Shape.Dims))
	for i := 0; ok && i < len(t.Shape) && !f.typ.Shape.UnknownRank; i++ {
		d := f.typ.Shape.Dims[i]
		ok = !d.Static() || d.Const == t.Shape[i]
	}
	if !ok {
		return invalid("input %q: expected %v %v, got %v %v", f.name, f.typ.DType, f.typ.Shape, t.DType, t.Shape)
	}
	n := 1
	for _, d := range t.Shape {
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if d < 0 || hi != 0 || lo > 1<<40 {
			return invalid("input %q: shape %v cannot be", f.name, t.Shape)
		}
		n = int(lo)
	}
	if t.DType == graph.String && len(t.Strings) != n || t.DType != graph.String && len(t.Bytes) != n*t.DType.Size() {
		return invalid("input %q: a %v tensor of shape %v does not have %d bytes and %d strings", f.name, t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	return nil
}

// open reports whether dimension 0 may be of any size: it is the batch.
func (f *feed) open() bool {
	return f.typ.Shape.UnknownRank || len(f.typ.Shape.Dims) > 0 && !f.typ.Shape.Dims[0].Static()
}

// feed puts the caller's tensors into their slots and finds the batch.
func (r *run) feed(feeds map[string]*graph.Tensor) error {
	r.batch = -1
	for i := range r.p.feeds {
		f := &r.p.feeds[i]
		t := feeds[f.name]
		if err := f.check(t); err != nil {
			return err
		}
		r.values[f.slot] = eager.Value{T: t}
		if r.batch < 0 && f.open() && len(t.Shape) > 0 {
			r.batch = t.Shape[0]
		}
	}
	return nil
}

// pattern is the type of a value in terms of the batch: dimension 0 is the batch where it may be.
func pattern(t *graph.Tensor, batch int, open bool) graph.Type {
	typ := graph.Type{DType: t.DType, Shape: graph.ShapeOf(t.Shape...)}
	if open && len(t.Shape) > 0 && t.Shape[0] == batch && batch > 0 {
		typ.Shape.Dims[0] = graph.Batch
	}
	return typ
}

// fits reports whether a tensor is of the type at the batch.
func fits(t *graph.Tensor, typ graph.Type, batch int) bool {
	if t == nil || t.DType != typ.DType || len(t.Shape) != len(typ.Shape.Dims) {
		return false
	}
	for i, d := range typ.Shape.Dims {
		if t.Shape[i] != d.At(batch) {
			return false
		}
	}
	return true
}
