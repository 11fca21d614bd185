package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// inplaceOps change rows of a tensor, or permute sizes and axes to another layout.
var inplaceOps = map[*ops.Def]maker{
	ops.InplaceUpdate:        plain(inplace(func(out, rows *tensor.Tensor, to, from, n int) error { copyCells(out, to, rows, from, n); return nil })),
	ops.InplaceAdd:           plain(inplace(changeCells(addition))),
	ops.InplaceSub:           plain(inplace(changeCells(subtraction))),
	ops.DataFormatDimMap:     formatDims,
	ops.DataFormatVecPermute: formatVector,
}

// changeCells adds or subtracts n elements of rows.
func changeCells(how change) func(out, rows *tensor.Tensor, to, from, n int) error {
	return func(out, rows *tensor.Tensor, to, from, n int) error {
		return how.slices(out, []int{to}, part(rows, from, n), n)
	}
}

// part returns a view of n elements.
func part(t *tensor.Tensor, from, n int) *tensor.Tensor {
	size := t.DType.Size()
	return &tensor.Tensor{DType: t.DType, Shape: []int{n}, Bytes: t.Bytes[from*size : (from+n)*size]}
}

// inplace returns x with row i[k] changed by v[k] for all k. Row indices are taken modulo the number of rows.
func inplace(set func(out, rows *tensor.Tensor, to, from, n int) error) kernel {
	return func(c call) error {
		x, v := c.t(0), c.t(2)
		at, err := c.integers("i", c.t(1))
		if err != nil {
			return err
		}
		if x.DType != v.DType || len(x.Shape) == 0 {
			return fmt.Errorf("x and v: expected one type and rows, got %v of shape %v and %v of shape %v", x.DType, x.Shape, v.DType, v.Shape)
		}
		if err := rank("i", c.t(1), 1); err != nil {
			return err
		}
		want := slices.Concat([]int{len(at)}, x.Shape[1:])
		if !slices.Equal(v.Shape, want) {
			return fmt.Errorf("v: expected shape %v, got %v", want, v.Shape)
		}
		out, err := c.output(0, x.DType, x.Shape...)
		if err != nil {
			return err
		}
		copyCells(out, 0, x, 0, x.Len())
		each, rows := product(x.Shape[1:]), x.Shape[0]
		if each == 0 || rows == 0 {
			return nil
		}
		for k, row := range at {
			if err := set(out, v, ((row%rows)+rows)%rows*each, k*each, each); err != nil {
				return err
			}
		}
		return nil
	}
}

// formats reads the attributes of two layouts, which have the same letters, and returns the index in the second of each letter of the first.
func (s *site) formats() []int {
	from, to := s.str("src_format", "NHWC"), s.str("dst_format", "NCHW")
	where := make([]int, 0, 5)
	for i := range len(from) {
		at := slices.Index([]byte(to), from[i])
		if at < 0 || slices.Contains(where, at) {
			break
		}
		where = append(where, at)
	}
	if len(from) != len(to) || len(where) != len(from) || len(from) < 4 || len(from) > 5 {
		s.fail("src_format and dst_format: expected 4 or 5 characters, the same ones, got %q and %q", clip([]byte(from)), clip([]byte(to)))
	}
	return where
}

// formatDims maps axes of one layout to axes of another.
func formatDims(s *site) (kernel, error) {
	where := s.formats()
	return func(c call) error {
		at, err := c.integers("x", c.t(0))
		if err != nil {
			return err
		}
		n := len(where)
		for i, v := range at {
			if v = (v + n) % n; v < 0 { // very negative axes: TensorFlow takes the last axis
				v = n - 1
			}
			at[i] = where[v]
		}
		return c.outputInts(0, c.t(0).DType, at, c.t(0).Shape...)
	}, nil
}

// formatVector permutes sizes, or pairs of them, to another layout. If there are two fewer, they are the spatial ones.
func formatVector(s *site) (kernel, error) {
	where := s.formats()
	from, to := s.str("src_format", "NHWC"), s.str("dst_format", "NCHW")
	return func(c call) error {
		x := c.t(0)
		in, err := integers("input", x)
		if err != nil {
			return err
		}
		order := where
		if n := len(where) - 2; len(x.Shape) > 0 && x.Shape[0] == n {
			if order = spatial(from, to); len(order) != n {
				return fmt.Errorf("src_format %q must contain %s for %d sizes", clip([]byte(from)), "DHW"[3-n:], n)
			}
		}
		if len(x.Shape) != 1 && len(x.Shape) != 2 || x.Shape[0] != len(order) || len(x.Shape) == 2 && x.Shape[1] != 2 {
			return fmt.Errorf("input must be a vector of %d or %d numbers, or as many pairs, got shape %v", len(where)-2, len(where), x.Shape)
		}
		width := len(in) / len(order)
		out := make([]int, len(in))
		for i, at := range order {
			copy(out[at*width:(at+1)*width], in[i*width:])
		}
		return c.outputInts(0, x.DType, out, x.Shape...)
	}, nil
}

// spatial returns the index of each spatial size of a layout in another layout, whose order may differ.
func spatial(from, to string) (where []int) {
	keep := func(s string) (kept []byte) {
		for i := range len(s) {
			if s[i] == 'H' || s[i] == 'W' || s[i] == 'D' && len(s) == 5 {
				kept = append(kept, s[i])
			}
		}
		return kept
	}
	target := keep(to)
	for _, letter := range keep(from) {
		where = append(where, slices.Index(target, letter))
	}
	return where
}
