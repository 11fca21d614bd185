package engine

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// feed is a value that the caller gives to every run.
type feed struct {
	op      *op
	name    string
	typ     graph.Type
	staging []byte // aligned copy of a host tensor that is not aligned
}

// checkFeeds checks that the tensors fit the feeds.
func (p *plan) checkFeeds(batch int, feeds []*tensor.Tensor) error {
	if slices.Contains(feeds, nil) && len(feeds) == len(p.feeds) {
		return p.feeds[slices.Index(feeds, nil)].check(nil, batch)
	}
	return p.checkEarly(batch, feeds)
}

// checkEarly is checkFeeds, except that tensors may be nil and come later.
func (p *plan) checkEarly(batch int, feeds []*tensor.Tensor) error {
	if len(feeds) != len(p.feeds) {
		return fmt.Errorf("run: expected %d feeds, got %d", len(p.feeds), len(feeds))
	}
	for i, f := range p.feeds {
		if feeds[i] == nil {
			continue
		}
		if err := f.check(feeds[i], batch); err != nil {
			return err
		}
	}
	return nil
}

// shareFeeds points the views of feeds (reshapes) at this run's tensors.
func (p *plan) shareFeeds() {
	for _, v := range p.feedViews {
		v.mem = v.base().mem
	}
}

// check checks that a tensor fits the feed.
func (f *feed) check(t *tensor.Tensor, batch int) error {
	if t == nil {
		return fmt.Errorf("feed %s: expected %v %v, got nothing", f.name, f.typ.DType, f.typ.Shape)
	}
	ok := t.DType == f.typ.DType && len(t.Shape) == len(f.typ.Shape.Dims)
	for i := 0; ok && i < len(t.Shape); i++ {
		ok = t.Shape[i] == f.typ.Shape.Dims[i].At(batch)
	}
	if !ok {
		return fmt.Errorf("feed %s: expected %v %v with B=%d, got %v %v", f.name, f.typ.DType, f.typ.Shape, batch, t.DType, t.Shape)
	}
	if want := t.Len() * t.DType.Size(); len(t.Bytes) != want {
		return fmt.Errorf("feed %s: a %v tensor of shape %v has %d bytes, got %d", f.name, t.DType, t.Shape, want, len(t.Bytes))
	}
	return nil
}

// aligned returns b itself if its elements are aligned, else a copy.
func (f *feed) aligned(b []byte) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(f.typ.DType.Size()) == 0 {
		return b
	}
	if cap(f.staging) < len(b) {
		f.staging = tensor.New(tensor.Uint8, len(b)).Bytes
	}
	copy(f.staging[:len(b)], b)
	return f.staging[:len(b)]
}

// uploadConstants finds the constants, and uploads those needed on the device, into one buffer.
func (s *state) uploadConstants(align int) error {
	size := 0
	var used []*op
	for _, o := range s.ops {
		if o.node.Op != "Const" || o.feed >= 0 {
			continue
		}
		t, err := constTensor(o.node)
		if err != nil {
			return err
		}
		v := o.out[0]
		v.mem = t.Bytes
		if s.onDevice[v] {
			v.off, used = size, append(used, o)
			size += alignUp(len(t.Bytes), align)
		}
	}
	if len(used) == 0 {
		return nil
	}
	buf, err := s.dev.Alloc(size)
	if err != nil {
		return fmt.Errorf("constants: %w", err)
	}
	s.consts = buf
	for _, o := range used {
		if err := s.stream.Upload(buf, o.out[0].off, o.out[0].mem); err != nil {
			return fmt.Errorf("constant %s: %w", o.node.Name, err)
		}
	}
	return s.stream.Synchronize()
}

// constTensor returns a Const's value after checking it against the node's output type. It copies an unaligned tensor.
func constTensor(n *graph.Node) (*tensor.Tensor, error) {
	t, ok := n.Attrs["value"].(*tensor.Tensor)
	if !ok || len(n.Outputs) != 1 {
		return nil, fmt.Errorf("constant %s has no value", n.Name)
	}
	if typ := n.Outputs[0]; t.DType != typ.DType || !graph.ShapeOf(t.Shape...).Equal(typ.Shape) || len(t.Bytes) != t.Len()*t.DType.Size() {
		return nil, fmt.Errorf("constant %s: expected %v %v, got %v %v in %d bytes", n.Name, typ.DType, typ.Shape, t.DType, t.Shape, len(t.Bytes))
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(t.Bytes)))%uintptr(t.DType.Size()) != 0 {
		t = t.Clone()
	}
	return t, nil
}
