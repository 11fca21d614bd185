package eager

import (
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// pairs returns the kernel that applies f to all pairs of elements of two broadcast inputs.
func pairs[T, R tensor.Element](f func(a, b T) R) kernel {
	return pairsOf(tensor.Values[T], outputOf[R], f)
}

// called is pairs for functions that take far longer than a call, such as divisions. All functions of a type share one loop, while pairs
// compiles one for each function.
//
//go:noinline
func called[T, R tensor.Element](f func(a, b T) R) kernel {
	return pairsOf(tensor.Values[T], outputOf[R], f)
}

// pairsOf is pairs with functions that read the inputs and make the output.
func pairsOf[T, R any](of func(*tensor.Tensor) []T, make func(c call, i int, shape ...int) ([]R, error), f func(a, b T) R) kernel {
	return func(c call) error {
		if err := sameType(c.in[:2]); err != nil {
			return err
		}
		sa, sb := c.t(0).Shape, c.t(1).Shape
		a, b := of(c.t(0)), of(c.t(1))
		shape := sa
		if !slices.Equal(sa, sb) {
			var err error
			if shape, err = broadcastShape(sa, sb); err != nil {
				return err
			}
		}
		dst, err := make(c, 0, shape...)
		if err != nil || len(dst) == 0 {
			return err
		}
		switch {
		case len(a) == len(dst) && len(b) == len(dst):
			for i := range dst {
				dst[i] = f(a[i], b[i])
			}
		case len(b) == 1:
			for i, y := 0, b[0]; i < len(dst); i++ {
				dst[i] = f(a[i], y)
			}
		case len(a) == 1:
			for i, x := 0, a[0]; i < len(dst); i++ {
				dst[i] = f(x, b[i])
			}
		default:
			w := pairWalk[T, R]{f, dst, a, b}
			w.each(shape, spread(sa, shape).steps, spread(sb, shape).steps, 0, 0)
		}
		return nil
	}
}

// pairWalk iterates over a broadcast pair of tensors; dst shrinks as it is filled.
type pairWalk[T, R any] struct {
	f    func(a, b T) R
	dst  []R
	a, b []T
}

func (w *pairWalk[T, R]) each(shape, sa, sb []int, i, j int) {
	n, da, db := shape[0], sa[0], sb[0]
	if len(shape) > 1 {
		for range n {
			w.each(shape[1:], sa[1:], sb[1:], i, j)
			i, j = i+da, j+db
		}
		return
	}
	for k := range n {
		w.dst[k] = w.f(w.a[i], w.b[j])
		i, j = i+da, j+db
	}
	w.dst = w.dst[n:]
}
