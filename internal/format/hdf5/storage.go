package hdf5

import (
	"bytes"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// The classes of layouts.
const (
	classCompact    = 0
	classContiguous = 1
	classChunked    = 2
)

// storage describes where the elements of a dataset are.
type storage struct {
	*file
	class   uint64
	compact []byte
	address uint64
	size    uint64
	chunk   []int // shape of a chunk
	element int   // bytes of an element, for a dataset in chunks
	filters []filter
	fill    []byte // value of elements that were never written; nil: zeros
}

// storage reads a layout message.
func (f *file) storage(c *cursor) (*storage, error) {
	version := c.number(1)
	s := &storage{file: f, class: c.number(1)}
	if c.err != nil || version != 3 && (version != 4 || s.class == classChunked) || s.class > classChunked {
		return nil, tensorfile.Errorf("a layout of version %d and class %d is not supported: expected what h5py writes unless libver=\"latest\"", version, s.class)
	}
	switch s.class {
	case classCompact:
		s.compact = c.next(int(c.number(2)))
	case classContiguous:
		s.address, s.size = c.address(), c.length()
	case classChunked:
		rank := int(c.number(1)) - 1
		s.address = c.address()
		for range rank {
			s.chunk = append(s.chunk, int(c.number(4)))
		}
		s.element = int(c.number(4))
	}
	return s, c.err
}

// check compares the stored size with the size of the elements.
func (s *storage) check(e tensorfile.Entry) error {
	switch s.class {
	case classCompact:
		if int64(len(s.compact)) != e.Bytes() {
			return tensorfile.Errorf("%d bytes for %v%v", len(s.compact), e.DType, e.Shape)
		}
	case classContiguous:
		if s.address == undefined {
			if e.Bytes() > s.file.size {
				return tensorfile.Errorf("%v%v was never written", e.DType, e.Shape)
			}
			return nil
		}
		at := s.base + s.address
		if s.size != uint64(e.Bytes()) || at < s.address || at > uint64(s.file.size) || s.size > uint64(s.file.size)-at {
			return tensorfile.Errorf("%d bytes at address %d for %v%v in a file of %d bytes", s.size, s.address, e.DType, e.Shape, s.file.size)
		}
	case classChunked:
		_, err := tensorfile.ShapeOf(words(s.chunk), e.DType.Size(), min(inflation*s.file.size, 1<<32))
		if err != nil || len(s.chunk) != len(e.Shape) || s.element != e.DType.Size() || tensor.NumElements(s.chunk) == 0 {
			return tensorfile.Errorf("chunks %v of elements of %d bytes for %v%v", s.chunk, s.element, e.DType, e.Shape)
		}
	}
	if s.class != classChunked && len(s.filters) > 0 {
		return tensorfile.Errorf("filters of a dataset that is not in chunks")
	}
	return nil
}

func words(shape []int) []uint64 {
	out := make([]uint64, len(shape))
	for i, d := range shape {
		out[i] = uint64(d)
	}
	return out
}

// load reads the elements.
func (s *storage) load(t *tensor.Tensor) error {
	switch {
	case s.class == classCompact:
		copy(t.Bytes, s.compact)
		return nil
	case s.address == undefined:
		s.clear(t)
		return nil
	case s.class == classContiguous:
		return tensorfile.ReadFull(s.r, t.Bytes, int64(s.base+s.address))
	}
	return s.chunks(t)
}

// clear sets all elements to the fill value.
func (s *storage) clear(t *tensor.Tensor) {
	if len(s.fill) == t.DType.Size() && len(bytes.Trim(s.fill, "\x00")) > 0 {
		for at := 0; at < len(t.Bytes); at += len(s.fill) {
			copy(t.Bytes[at:], s.fill)
		}
	}
}

// chunks reads all chunks. Each may occur only once.
func (s *storage) chunks(t *tensor.Tensor) error {
	s.clear(t)
	rank := len(s.chunk)
	whole := *s.file // own budget: reading elements again is no cycle
	whole.budget = 16*s.file.size + 1<<16
	seen := map[int]bool{}
	return whole.tree(s.address, 1, 8+8*(rank+1), 0, func(key *cursor, child uint64) error {
		stored, mask := key.number(4), key.number(4)
		origin, slot := make([]int, rank), 0
		for i := range origin {
			at := key.number(8)
			if at >= uint64(t.Shape[i]) || at%uint64(s.chunk[i]) != 0 {
				return tensorfile.Errorf("a chunk begins at %d of dimension %d, which has %d", at, i, t.Shape[i])
			}
			origin[i] = int(at)
			slot = slot*((t.Shape[i]+s.chunk[i]-1)/s.chunk[i]) + origin[i]/s.chunk[i]
		}
		if key.err != nil || seen[slot] {
			return tensorfile.Errorf("the chunk at %v is there twice", origin)
		}
		seen[slot] = true
		c, err := whole.read(child, int(stored))
		if err != nil {
			return err
		}
		data, err := undo(s.filters, mask, c.b, tensor.NumElements(s.chunk)*s.element, s.element)
		if err != nil {
			return err
		}
		s.place(t, data, origin)
		return nil
	})
}

// place copies the part of a chunk that lies inside the dataset, row by row.
func (s *storage) place(t *tensor.Tensor, data []byte, origin []int) {
	rank := len(origin)
	if rank == 0 {
		copy(t.Bytes, data)
		return
	}
	index := make([]int, rank) // index in the chunk of the beginning of a row
	row := min(s.chunk[rank-1], t.Shape[rank-1]-origin[rank-1]) * s.element
	for {
		from, to := 0, 0
		for i := range rank {
			from = from*s.chunk[i] + index[i]
			to = to*t.Shape[i] + origin[i] + index[i]
		}
		copy(t.Bytes[to*s.element:][:row], data[from*s.element:])
		i := rank - 2
		for ; i >= 0; i-- {
			if index[i]++; index[i] < s.chunk[i] && origin[i]+index[i] < t.Shape[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
