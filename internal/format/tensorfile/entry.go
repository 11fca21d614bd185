package tensorfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// ErrFormat is wrapped by errors about files that are damaged, or contain something unsupported.
var ErrFormat = errors.New("damaged, or not supported")

// Errorf returns an error that wraps ErrFormat.
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

// Entry is a tensor of a file. Its shape and type are known; its elements have not been read.
type Entry struct {
	Name  string
	DType tensor.DType
	Shape []int
	// Load reads the elements. The file must still be open.
	Load func() (*tensor.Tensor, error)
}

// Bytes returns the size of the elements in memory.
func (e Entry) Bytes() int64 { return int64(tensor.NumElements(e.Shape)) * int64(e.DType.Size()) }

// maxRank bounds shapes; NumPy has at most 64 dimensions.
const maxRank = 64

// ShapeOf checks the dimensions that a file claims: the elements, of size bytes each,
// must take at most limit bytes.
func ShapeOf(dims []uint64, size int, limit int64) ([]int, error) {
	if len(dims) > maxRank {
		return nil, Errorf("%d dimensions, expected at most %d", len(dims), maxRank)
	}
	shape, bytes := make([]int, len(dims)), uint64(size)
	for i, d := range dims {
		if d > math.MaxInt64/2 || (d > 0 && bytes > math.MaxInt64/2/d) {
			return nil, Errorf("shape %v is too large", dims)
		}
		bytes *= d
		shape[i] = int(d)
	}
	if slices.Contains(shape, 0) {
		bytes = 0
	}
	if bytes > uint64(max(limit, 0)) {
		return nil, Errorf("shape %v takes %d bytes, and the file has at most %d for it", dims, bytes, limit)
	}
	return shape, nil
}

// Read reads the elements of a tensor that has the same layout in a file as in memory.
func Read(r io.ReaderAt, offset int64, d tensor.DType, shape []int) (*tensor.Tensor, error) {
	t := tensor.New(d, shape...)
	if err := ReadFull(r, t.Bytes, offset); err != nil {
		return nil, err
	}
	if d == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t, nil
}

// ReadFull fills b from offset; an earlier end of the file is an error.
func ReadFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return Errorf("the file ends after %d of %d bytes at offset %d", n, len(b), offset)
	}
	return err
}

// Swap reverses the bytes of each element, between big-endian and little-endian order.
func Swap(b []byte, size int) {
	if size < 2 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}
