package npz

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// suffix is the extension of members that are arrays.
const suffix = ".npy"

// inflation is the largest factor by which deflate can shrink data.
const inflation = 1032

// Has reports whether a ZIP file holds arrays.
func Has(z *zip.Reader) bool {
	return slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, suffix) })
}

// Read lists the arrays of an archive, sorted by name. Damage is an error that wraps
// tensorfile.ErrFormat.
func Read(z *zip.Reader) ([]tensorfile.Entry, error) {
	var out []tensorfile.Entry
	seen := map[string]bool{}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, suffix)
		if !ok {
			continue
		}
		if seen[name] {
			return nil, tensorfile.Errorf("array %q is there twice", name)
		}
		seen[name] = true
		e, err := entry(f, name)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b tensorfile.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func entry(f *zip.File, name string) (tensorfile.Entry, error) {
	body, err := f.Open()
	if err != nil {
		return tensorfile.Entry{}, tensorfile.Errorf("%w", err)
	}
	defer body.Close()
	h, err := readHeader(body)
	if err != nil {
		return tensorfile.Entry{}, err
	}
	limit := f.UncompressedSize64
	if most := f.CompressedSize64; most < limit/inflation {
		return tensorfile.Entry{}, tensorfile.Errorf("%d bytes in %d compressed ones", limit, most)
	}
	e := tensorfile.Entry{Name: name, DType: h.dtype}
	if e.Shape, err = tensorfile.ShapeOf(h.dims, h.dtype.Size(), int64(min(limit, 1<<62))); err != nil {
		return e, err
	}
	if want := uint64(e.Bytes() + h.length); want != limit {
		return e, tensorfile.Errorf("%d bytes for %v%v and its header, expected %d", limit, e.DType, e.Shape, want)
	}
	e.Load = func() (*tensor.Tensor, error) { return load(f, h, e) }
	return e, nil
}

// load reads an array to its end, where the archive's checksum is compared.
func load(f *zip.File, h header, e tensorfile.Entry) (*tensor.Tensor, error) {
	body, err := f.Open()
	if err != nil {
		return nil, tensorfile.Errorf("array %q: %w", e.Name, err)
	}
	defer body.Close()
	t := tensor.New(e.DType, h.stored(e.Shape)...)
	_, err = io.CopyN(io.Discard, body, h.length)
	if err == nil {
		_, err = io.ReadFull(body, t.Bytes)
	}
	if err == nil { // the checksum is compared at the end
		if _, err = body.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, tensorfile.Errorf("array %q: %w", e.Name, err)
	}
	return h.arrange(t)
}

// stored returns the shape in which the stored elements are in C order.
func (h header) stored(shape []int) []int {
	if h.fortran {
		shape = slices.Clone(shape)
		slices.Reverse(shape)
	}
	return shape
}

// arrange converts a tensor of the stored shape to the array. It may change t.
func (h header) arrange(t *tensor.Tensor) (*tensor.Tensor, error) {
	if h.bigEndian {
		tensorfile.Swap(t.Bytes, wordOf(t.DType))
	}
	if t.DType == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	if !h.fortran {
		return t, nil
	}
	perm := make([]int, len(t.Shape))
	for i := range perm {
		perm[i] = len(perm) - 1 - i
	}
	return tensorfile.Transpose(t, perm...)
}

// wordOf is the size of the unit of byte order: for a complex number, one of its parts.
func wordOf(d tensor.DType) int {
	if d == tensor.Complex64 || d == tensor.Complex128 {
		return d.Size() / 2
	}
	return d.Size()
}
