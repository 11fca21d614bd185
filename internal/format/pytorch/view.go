package pytorch

import (
	"math/bits"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// newStorage makes a storage from its persistent id: "storage", the class, the key, the device, the number of
// elements and, in files from before PyTorch 1.6, which part of another storage it is.
func newStorage(id any) (*storage, error) {
	tuple, ok := id.(*list)
	if !ok || len(tuple.items) < 5 || tuple.items[0] != "storage" {
		return nil, tensorfile.Errorf("an object that is not in the pickle: expected a storage")
	}
	args, s := tuple.items, &storage{}
	if s.dtype, ok = dtypeOf(args[1], storages); !ok {
		if args[1] != global(untyped) {
			return nil, tensorfile.Errorf("a storage of class %s", args[1])
		}
		s.dtype, s.bytes = tensor.Uint8, true
	}
	key, err := argument[string](args, 2)
	if err != nil {
		return nil, err
	}
	count, err := argument[int64](args, 4)
	if err != nil {
		return nil, err
	}
	if count < 0 || count > maxElements {
		return nil, tensorfile.Errorf("storage %q of %d elements", key, count)
	}
	if len(args) > 5 && args[5] != nil {
		return nil, tensorfile.Errorf("storage %q is a part of another one: save it with a PyTorch of version 0.4 or later", key)
	}
	s.key, s.count = key, count
	return s, nil
}

// Bounds on what a pickle claims: byte counts cannot overflow, and descriptions stay small.
const (
	maxElements = 1 << 56
	maxRank     = 64
)

// rebuild makes a tensor. The arguments are storage, offset, shape, strides, and further ones that do not matter here.
func rebuild(args []any) (any, error) {
	s, err := argument[*storage](args, 0)
	if err != nil {
		return nil, err
	}
	if s.bytes {
		return nil, tensorfile.Errorf("a tensor of storage %q without an element type", s.key)
	}
	return viewOf(s, s.dtype, args, 6)
}

// rebuildTyped is rebuild with the element type as argument 6, for types without a class of storages.
func rebuildTyped(args []any) (any, error) {
	s, err := argument[*storage](args, 0)
	if err != nil {
		return nil, err
	}
	g, err := argument[global](args, 6)
	if err != nil {
		return nil, err
	}
	d, ok := dtypeOf(g, dtypes)
	if !ok || !s.bytes {
		return nil, tensorfile.Errorf("a tensor of %v and a storage of %v", g, s.dtype)
	}
	return viewOf(s, d, args, 7)
}

// viewOf makes a tensor. Argument flags asks for operations on the elements, such as the conjugate.
func viewOf(s *storage, d tensor.DType, args []any, flags int) (any, error) {
	if len(args) > flags {
		if f, ok := args[flags].(*dict); ok && len(f.items) > 0 {
			return nil, tensorfile.Errorf("a tensor that is saved as the conjugate or the negative of another one: save it after resolve_conj and resolve_neg")
		}
	}
	offset, err := argument[int64](args, 1)
	if err != nil {
		return nil, err
	}
	v := &view{storage: s, dtype: d, offset: offset}
	for i, to := range []*[]uint64{&v.dims, &v.strides} {
		l, err := argument[*list](args, 2+i)
		if err != nil {
			return nil, err
		}
		if len(l.items) > maxRank {
			return nil, tensorfile.Errorf("%d dimensions, expected at most %d", len(l.items), maxRank)
		}
		for _, x := range l.items {
			n, ok := x.(int64)
			if !ok || n < 0 || n > maxElements {
				return nil, tensorfile.Errorf("shape or strides with %s %v", kindOf(x), x)
			}
			*to = append(*to, uint64(n))
		}
	}
	if len(v.dims) != len(v.strides) || offset < 0 || offset > maxElements {
		return nil, tensorfile.Errorf("a tensor of %d dimensions, %d strides and offset %d", len(v.dims), len(v.strides), offset)
	}
	return v, nil
}

// size is the size of the storage in the file, in bytes.
func (s *storage) size() int64 { return s.count * int64(s.dtype.Size()) }

// extent returns how many elements, from the offset on, the tensor spans. It fails if that exceeds the storage.
func (v *view) extent() (int64, error) {
	last, have := uint64(0), uint64(v.storage.size())/uint64(v.dtype.Size())
	for i, d := range v.dims {
		if d == 0 {
			return 0, nil
		}
		high, low := bits.Mul64(d-1, v.strides[i])
		if last += low; high != 0 || low > maxElements || last > maxElements {
			return 0, tensorfile.Errorf("shape %v with strides %v is too large", v.dims, v.strides)
		}
	}
	if end := uint64(v.offset) + last + 1; end > have {
		return 0, tensorfile.Errorf("the tensor ends at element %d of a storage of %d", end, have)
	}
	return int64(last) + 1, nil
}

// contiguous reports whether the elements in the storage have a tensor's layout.
func (v *view) contiguous() bool {
	step := uint64(1)
	for i := len(v.dims) - 1; i >= 0; i-- {
		if v.dims[i] != 1 && v.strides[i] != step {
			return false
		}
		step *= v.dims[i]
	}
	return true
}

// gather copies the elements of a view from the bytes of its extent.
func (v *view) gather(t *tensor.Tensor, from []byte) {
	size := t.DType.Size()
	index, at := make([]int, len(t.Shape)), 0
	for to := 0; to < len(t.Bytes); to += size {
		copy(t.Bytes[to:to+size], from[at*size:])
		for i := len(index) - 1; i >= 0; i-- {
			index[i]++
			at += int(v.strides[i])
			if index[i] < t.Shape[i] {
				break
			}
			at -= int(v.strides[i]) * index[i]
			index[i] = 0
		}
	}
}
