package eager

import (
	"fmt"
	"math/cmplx"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// complexOps make complex numbers from real ones, and real ones from complex ones.
var complexOps = map[*ops.Def]maker{
	ops.Complex:    plain(floats(complexOf(func(re, im float32) complex64 { return complex(re, im) }), complexOf(func(re, im float64) complex128 { return complex(re, im) })).on(0)),
	ops.Real:       partOf(func(x complex128) float64 { return real(x) }),
	ops.Imag:       partOf(func(x complex128) float64 { return imag(x) }),
	ops.ComplexAbs: partOf(cmplx.Abs),
	ops.Angle:      partOf(cmplx.Phase),
	ops.Conj: plain((&typed{}).complexes(eachOf(func(x complex64) complex64 { return complex(real(x), -imag(x)) }),
		eachOf(func(x complex128) complex128 { return cmplx.Conj(x) })).on(0)),
	ops.ConjugateTranspose: plain(conjugateTranspose),
}

// complexNumber has the complex types.
type complexNumber interface{ complex64 | complex128 }

// isComplex reports whether a type is complex.
func isComplex(d tensor.DType) bool { return d == tensor.Complex64 || d == tensor.Complex128 }

func complexOf[T float, C complexNumber](f func(re, im T) C) kernel { return pairs(f) }

// partOf returns the maker of a kernel that maps complex numbers to real ones.
func partOf(f func(complex128) float64) maker {
	return plain((&typed{}).complexes(eachOf(func(x complex64) float32 { return float32(f(complex128(x))) }), eachOf(f)).on(0))
}

// conjugate returns the conjugates of a tensor's elements; a real tensor is returned unchanged.
func conjugate(c call, t *tensor.Tensor) (*tensor.Tensor, error) {
	if !isComplex(t.DType) {
		return t, nil
	}
	out, err := c.alloc(t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	for i, v := range tensor.Values[complex64](t) {
		tensor.Values[complex64](out)[i] = complex(real(v), -imag(v))
	}
	for i, v := range tensor.Values[complex128](t) {
		tensor.Values[complex128](out)[i] = cmplx.Conj(v)
	}
	return out, nil
}

func conjugateTranspose(c call) error {
	t, err := conjugate(c, c.t(0))
	if err != nil {
		return err
	}
	c.in = []Value{{T: t}, c.in[1]}
	return transpose(c)
}

// adjoints returns the kernel of matrix products of operands, or of their conjugate transposes.
func adjoints(a, b bool) kernel {
	k := multiplier(a, b).on(0)
	return func(c call) error {
		in := []Value{c.in[0], c.in[1]}
		for i, flip := range []bool{a, b} {
			t, err := c.t(i), error(nil)
			if flip {
				t, err = conjugate(c, t)
			}
			if err != nil {
				return err
			}
			in[i].T = t
		}
		c.in = in
		return k(c)
	}
}

// complexReduce sums or multiplies in complex128.
func complexReduce[T complexNumber](op *ops.Def, keep bool) kernel {
	return func(c call) error {
		r, err := reduced(c.t(0).Shape, c.t(1), keep)
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, r.out...)
		if err != nil {
			return err
		}
		if err := c.room(len(dst), 16); err != nil {
			return err
		}
		acc, src := make([]complex128, len(dst)), tensor.Values[T](c.t(0))
		switch op {
		case ops.Prod:
			for i := range acc {
				acc[i] = 1
			}
			r.walk(func(i, o int) { acc[o] *= complex128(src[i]) })
		case ops.Sum, ops.Mean:
			r.walk(func(i, o int) { acc[o] += complex128(src[i]) })
		default:
			return fmt.Errorf("%s of complex numbers %w", op.Name, ErrUnsupported)
		}
		for i, v := range acc {
			if op == ops.Mean {
				v /= complex(float64(r.count), 0)
			}
			dst[i] = T(v)
		}
		return nil
	}
}
