package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/tensor"
)

// GlobalStep is the name of the step's tensor, an int64 scalar.
const GlobalStep = "global_step"

// Slice is a part of a partitioned tensor: start and length in each
// dimension.
type Slice = bundle.Slice

// Extent is one dimension of a Slice. Start 0 with Length -1 means the whole dimension.
type Extent = bundle.Extent

// Snapshot is the content of a checkpoint.
type Snapshot struct {
	Step int64
	// Tensors by name. GlobalStep is added; if it is given, it must equal Step.
	Tensors map[string]*tensor.Tensor
	// Parts are further tensors, and slices of partitioned ones; slices with one name
	// must cover the tensor exactly once. Parts is iterated once, and
	// each part is written before the next is requested, so parts may be made on
	// demand. An error ends the save. Nil: there are none.
	Parts iter.Seq2[Part, error]
}

// Part is one slice of a partitioned tensor with the shape Full or, without
// a Slice, a whole tensor.
type Part struct {
	Name   string
	Full   []int
	Slice  Slice
	Tensor *tensor.Tensor
}

// PartsOf yields parts that are in memory.
func PartsOf(parts ...Part) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		for _, p := range parts {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// complete returns the snapshot's tensors, including GlobalStep.
func (s Snapshot) complete() (map[string]*tensor.Tensor, error) {
	if s.Step < 0 {
		return nil, fmt.Errorf("checkpoint of step %d: expected a step >= 0", s.Step)
	}
	if t := s.Tensors[GlobalStep]; t != nil {
		if v := tensor.Values[int64](t); len(v) != 1 || len(t.Shape) != 0 || v[0] != s.Step {
			return nil, fmt.Errorf("tensor %q: expected the int64 scalar %d, got %s%v %v", GlobalStep, s.Step, t.DType, t.Shape, v)
		}
		return s.Tensors, nil
	}
	all := make(map[string]*tensor.Tensor, len(s.Tensors)+1)
	maps.Copy(all, s.Tensors)
	all[GlobalStep] = tensor.Scalar(s.Step)
	return all, nil
}

// Reader reads one checkpoint. It keeps its files open, so the chief may
// delete them meanwhile. It is safe for concurrent use until Close.
type Reader struct{ b *bundle.Reader }

// Info describes one tensor of a checkpoint.
type Info = bundle.Info

// Prefix returns the common prefix of the checkpoint's file names.
func (r *Reader) Prefix() string { return r.b.Prefix() }

// Digest distinguishes checkpoints with the same prefix: equal digests mean equal contents.
func (r *Reader) Digest() [sha256.Size]byte { return r.b.Digest() }

// Names returns the names of the tensors, sorted.
func (r *Reader) Names() []string {
	list := r.b.List()
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names
}

// List describes the tensors, sorted by name.
func (r *Reader) List() []Info { return r.b.List() }

// Lookup describes one tensor.
func (r *Reader) Lookup(name string) (Info, bool) { return r.b.Lookup(name) }

// Tensor reads one tensor and checks it. The error wraps ErrNotFound if the
// checkpoint does not have it, or is a *CorruptError.
func (r *Reader) Tensor(name string) (*tensor.Tensor, error) { return r.b.Tensor(name) }

// Rows reads only rows [lo, hi) along the first dimension of a tensor, however it is
// partitioned. It checks no checksums: OpenLatest has checked them.
func (r *Reader) Rows(name string, lo, hi int) (*tensor.Tensor, error) { return r.b.Rows(name, lo, hi) }

// Verify reads every byte and returns the first *CorruptError.
func (r *Reader) Verify() error { return r.b.Verify() }

// Close closes the files.
func (r *Reader) Close() error { return r.b.Close() }

// Step returns the global step: the tensor's value, else the number at the
// end of the prefix, else 0.
func (r *Reader) Step() int64 {
	if t, err := r.Tensor(GlobalStep); err == nil {
		if v := tensor.Values[int64](t); len(v) == 1 {
			return v[0]
		}
		if v := tensor.Values[int32](t); len(v) == 1 {
			return int64(v[0])
		}
	}
	step, _ := StepOf(r.Prefix())
	return step
}

// Snapshot reads everything; partitioned tensors are joined.
func (r *Reader) Snapshot() (Snapshot, error) {
	s := Snapshot{Step: r.Step(), Tensors: map[string]*tensor.Tensor{}}
	for _, n := range r.Names() {
		t, err := r.Tensor(n)
		if err != nil {
			return Snapshot{}, err
		}
		s.Tensors[n] = t
	}
	return s, nil
}

// holds reports whether the checkpoint is readable and has exactly these tensors.
func (r *Reader) holds(tensors map[string]*tensor.Tensor) bool {
	if len(r.List()) != len(tensors) {
		return false
	}
	for name, want := range tensors {
		got, err := r.Tensor(name)
		if err != nil || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) ||
			!bytes.Equal(got.Bytes, want.Bytes) || !slices.EqualFunc(got.Strings, want.Strings, bytes.Equal) {
			return false
		}
	}
	return true
}
