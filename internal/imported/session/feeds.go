package session

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
)

// feed is a tensor that the caller provides.
type feed struct {
	name string
	slot int
	typ  graph.Type // from the graph or, if it states none, the signature
}

// maxEmpty bounds the product of the nonzero sizes of a tensor without elements, since some models' work and results
// grow with them. A batch of no rows may be wider: it runs op by op, and package eager bounds the work of each.
const maxEmpty = 1 << 28

// check compares a tensor with the feed's type.
func (f *feed) check(t *tensor.Tensor) error {
	if t == nil {
		return invalid("input %q: expected %v %v, got nothing", f.name, f.typ.DType, f.typ.Shape)
	}
	if t.DType != f.typ.DType {
		return invalid("input %q: expected %v %v, got %v %v", f.name, f.typ.DType, f.typ.Shape, t.DType, t.Shape)
	}
	n, err := infer.Elements(t.Shape)
	if err != nil {
		return invalid("input %q: %v", f.name, err)
	}
	if t.DType == tensor.String && len(t.Strings) != n || t.DType != tensor.String && len(t.Bytes) != n*t.DType.Size() {
		return invalid("input %q: a %v tensor of shape %v does not have %d bytes and %d strings", f.name, t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	return nil
}

// asDeclared reports whether a tensor has the sizes that the model states. TensorFlow also computes other sizes if the ops
// accept them; clients rely on it.
func (f *feed) asDeclared(t *tensor.Tensor) bool {
	if f.typ.Shape.UnknownRank {
		return true
	}
	if len(t.Shape) != len(f.typ.Shape.Dims) {
		return false
	}
	for i, d := range f.typ.Shape.Dims {
		if d.Static() && d.Const != t.Shape[i] {
			return false
		}
	}
	return true
}

// open reports whether dimension 0 of a tensor is the batch: the model does not state its size.
func (f *feed) open(t *tensor.Tensor) bool {
	if len(t.Shape) == 0 {
		return false
	}
	dims := f.typ.Shape.Dims
	return f.typ.Shape.UnknownRank || len(dims) == 0 || !dims[0].Static() || dims[0].Const != t.Shape[0]
}

// blame adds to an error the inputs that do not have the stated sizes, if these may be its cause.
func (r *run) blame(err error) error {
	if c := codeOf(err); c != codes.InvalidArgument && c != codes.Internal {
		return err
	}
	for i := range r.p.feeds {
		f := &r.p.feeds[i]
		if t := r.slots.Values[f.slot].T; t != nil && !f.asDeclared(t) {
			return invalid("input %q: expected %v %v, got %v %v: %v", f.name, f.typ.DType, f.typ.Shape, t.DType, t.Shape, statustext.Of(err))
		}
	}
	return err
}

// feed puts the caller's tensors into their slots and determines the batch size.
func (r *run) feed(feeds map[string]*tensor.Tensor) error {
	r.batch = -1
	for i := range r.p.feeds {
		f := &r.p.feeds[i]
		t := feeds[f.name]
		if err := f.check(t); err != nil {
			return err
		}
		r.slots.Values[f.slot] = eager.Value{T: t}
		if r.batch < 0 && f.open(t) {
			r.batch = t.Shape[0]
		}
	}
	for i := range r.p.feeds {
		f := &r.p.feeds[i]
		if t := r.slots.Values[f.slot].T; t.Len() == 0 && infer.Breadth(t.Shape) > maxEmpty && (r.batch != 0 || t.Shape[0] != 0) {
			return invalid("input %q: shape %v stands for too much, although it is empty", f.name, t.Shape)
		}
	}
	return nil
}

// pattern is the type of a value in terms of the batch: dimension 0 is the batch if it can be.
func pattern(t *tensor.Tensor, batch int, open bool) graph.Type {
	typ := graph.Type{DType: t.DType, Shape: graph.ShapeOf(t.Shape...)}
	if open && len(t.Shape) > 0 && t.Shape[0] == batch && batch > 0 {
		typ.Shape.Dims[0] = graph.Batch
	}
	return typ
}

// fits reports whether a tensor has the type at that batch size.
func fits(t *tensor.Tensor, typ graph.Type, batch int) bool {
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
