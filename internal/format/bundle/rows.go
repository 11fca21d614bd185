package bundle

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Rows reads only rows [lo, hi) along the first dimension of a tensor, partitioned
// or not. It does not check checksums, which cover whole tensors and
// slices: call Verify first. Strings are refused with
// ErrUnsupported.
func (r *Reader) Rows(name string, lo, hi int) (*tensor.Tensor, error) {
	e := r.entries[name]
	if e == nil || isSliceKey(name) {
		return nil, fmt.Errorf("key %q not found in checkpoint %s: %w", name, r.prefix, ErrNotFound)
	}
	if e.dtype.Size() == 0 {
		return nil, fmt.Errorf("rows of tensor %q of checkpoint %s: %w: %s", name, r.prefix, ErrUnsupported, e.dtype)
	}
	if len(e.shape) == 0 || lo < 0 || hi < lo || hi > e.shape[0] {
		return nil, fmt.Errorf("rows %d to %d of tensor %q of shape %v in checkpoint %s: expected rows of it", lo, hi, name, e.shape, r.prefix)
	}
	if len(e.slices) == 0 {
		return r.rowsOf(e, lo, hi)
	}
	parts, err := r.parts(e)
	if err != nil {
		return nil, err
	}
	out := tensor.New(e.dtype, append([]int{hi - lo}, e.shape[1:]...)...)
	for i, p := range parts {
		s := append(Slice(nil), e.slices[i]...)
		first, last := max(lo, s[0].Start), min(hi, s[0].Start+p.shape[0])
		if first >= last {
			continue
		}
		t, err := r.rowsOf(p, first-s[0].Start, last-s[0].Start)
		if err != nil {
			return nil, err
		}
		s[0] = Extent{Start: first - lo, Length: last - first}
		paste(out, t, s)
	}
	return out, nil
}

// rowsOf reads rows of a tensor or slice that is stored in one piece.
func (r *Reader) rowsOf(e *entry, lo, hi int) (*tensor.Tensor, error) {
	t := tensor.New(e.dtype, append([]int{hi - lo}, e.shape[1:]...)...)
	row := tensor.NumElements(e.shape[1:]) * e.dtype.Size()
	part := *e
	part.offset, part.size = e.offset+int64(lo*row), int64(len(t.Bytes))
	return t, readFull(r.files[e.shard], t.Bytes, &part)
}
