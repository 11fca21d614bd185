package npz

import (
	"archive/zip"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// Array is an array whose rows, the entries of its first dimension, have random access. It is safe for concurrent use.
type Array struct {
	tensorfile.Entry
	body      io.ReaderAt // the stored elements; nil: they are read into memory, once
	offset    int64       // of the first element in body
	bigEndian bool
	whole     func() (*tensor.Tensor, error)
}

// Open returns the array in an NPY file of size bytes. The file must stay open. Damage is an error that wraps tensorfile.ErrFormat.
func Open(file io.ReaderAt, size int64) (*Array, error) {
	section := io.NewSectionReader(file, 0, size)
	h, err := readHeader(section)
	if err != nil {
		return nil, err
	}
	e := tensorfile.Entry{DType: h.dtype}
	if e.Shape, err = tensorfile.ShapeOf(h.dims, h.dtype.Size(), size); err != nil {
		return nil, err
	}
	if want := e.Bytes() + h.length; want != size {
		return nil, tensorfile.Errorf("%d bytes for %v%v and its header, expected %d: it is cut short, or holds more than one array", size, e.DType, e.Shape, want)
	}
	e.Load = func() (*tensor.Tensor, error) {
		t := tensor.New(e.DType, h.stored(e.Shape)...)
		if err := tensorfile.ReadFull(file, t.Bytes, h.length); err != nil {
			return nil, err
		}
		return h.arrange(t)
	}
	return newArray(e, h, file, h.length), nil
}

// Arrays returns the arrays of an NPZ archive, sorted by name. Rows of uncompressed arrays are read from file, which must stay open, without
// checking checksums. Compressed arrays, and arrays in Fortran order, are read into memory when their first row is requested.
func Arrays(z *zip.Reader, file io.ReaderAt) ([]*Array, error) {
	entries, err := Read(z)
	if err != nil {
		return nil, err
	}
	var out []*Array
	for _, e := range entries {
		f := z.File[slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == e.Name+suffix })]
		a, err := member(f, e, file)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", e.Name, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// member is an array of an archive.
func member(f *zip.File, e tensorfile.Entry, file io.ReaderAt) (*Array, error) {
	body, err := f.Open()
	if err != nil {
		return nil, tensorfile.Errorf("%w", err)
	}
	defer body.Close()
	h, err := readHeader(body)
	if err != nil {
		return nil, err
	}
	if f.Method != zip.Store {
		return newArray(e, h, nil, 0), nil
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, tensorfile.Errorf("%w", err)
	}
	if f.CompressedSize64 != f.UncompressedSize64 {
		return nil, tensorfile.Errorf("%d bytes are stored as %d", f.UncompressedSize64, f.CompressedSize64)
	}
	return newArray(e, h, file, at+h.length), nil
}

func newArray(e tensorfile.Entry, h header, body io.ReaderAt, offset int64) *Array {
	if h.fortran && len(e.Shape) > 1 {
		body = nil // rows are not contiguous
	}
	return &Array{Entry: e, body: body, offset: offset, bigEndian: h.bigEndian, whole: sync.OnceValues(e.Load)}
}

// InMemory reports whether reading a row reads the whole array into memory.
func (a *Array) InMemory() bool { return a.body == nil }

// Rows returns the first dimension, or 0 for an array without one.
func (a *Array) Rows() int {
	if len(a.Shape) == 0 {
		return 0
	}
	return a.Shape[0]
}

// ReadRows fills dst with the elements of consecutive rows in C order, little-endian; a bool is a byte, 0 or 1.
// len(dst) must be a multiple of a row's size, and the rows must be in the array.
func (a *Array) ReadRows(dst []byte, first int) error {
	size := tensor.NumElements(a.Shape[1:]) * a.DType.Size()
	if a.body == nil {
		t, err := a.whole()
		if err != nil {
			return err
		}
		copy(dst, t.Bytes[first*size:])
		return nil
	}
	if err := tensorfile.ReadFull(a.body, dst, a.offset+int64(first)*int64(size)); err != nil {
		return err
	}
	if a.bigEndian {
		tensorfile.Swap(dst, wordOf(a.DType))
	}
	if a.DType == tensor.Bool {
		tensor.NormalizeBools(dst)
	}
	return nil
}

// IsNPY reports whether head begins an NPY file.
func IsNPY(head []byte) bool { return strings.HasPrefix(string(head), magic) }
