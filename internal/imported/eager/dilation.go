package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// dilation returns the maker of a grayscale dilation from its kernels, in the order of the numeric types.
func dilation(k ...poolKernel) maker {
	return func(s *site) (kernel, error) {
		w, err := window.Read(s.node)
		if err != nil {
			return nil, err
		}
		on := make([]kernel, len(k))
		for i, f := range k {
			on[i] = func(c call) error {
				if err := sameType(c.in); err != nil {
					return err
				}
				return f(c, w)
			}
		}
		return numbers(on[0], on[1], on[2], on[3], on[4], on[5], on[6], on[7], on[8], on[9]).on(0), nil
	}
}

// largestSum is an element of a dilation: the largest sum of a pixel and a filter element, and their indices.
type largestSum[T number] struct {
	value     T
	row, col  int // in the image; if no sum exceeds the lowest number, the window's first pixel inside
	from, tap int // indices into image and filter, -1 if no sum exceeds the lowest number
}

// dilations calls f for each element of the result. It ends with the request.
func dilations[T number](c call, g kernels.Window, f func(at int, best largestSum[T])) error {
	x, filter := tensor.Values[T](c.t(0)), tensor.Values[T](c.t(1))
	left := 0
	for b := range g.Batch {
		for oh := range g.OutH {
			for ow := range g.OutW {
				for d := range g.InC {
					if left -= 1 + g.KH*g.KW; left < 0 {
						if err := c.ctx.Err(); err != nil {
							return err
						}
						left = uninterrupted
					}
					f(((b*g.OutH+oh)*g.OutW+ow)*g.InC+d, dilated(g, x, filter, [4]int{b, oh, ow, d}))
				}
			}
		}
	}
	return nil
}

// dilated returns one element of a dilation.
func dilated[T number](g kernels.Window, x, filter []T, at [4]int) largestSum[T] {
	top, leftmost, d := at[1]*g.StrideH-g.PadTop, at[2]*g.StrideW-g.PadLeft, at[3]
	best := largestSum[T]{value: lowest[T](), row: max(top, 0), col: max(leftmost, 0), from: -1, tap: -1}
	for kh := range g.KH {
		h := top + kh*g.DilH
		if h < 0 || h >= g.InH {
			continue
		}
		for kw := range g.KW {
			w := leftmost + kw*g.DilW
			if w < 0 || w >= g.InW {
				continue
			}
			from, tap := ((at[0]*g.InH+h)*g.InW+w)*g.InC+d, (kh*g.KW+kw)*g.InC+d
			if v := x[from] + filter[tap]; v > best.value {
				best = largestSum[T]{v, h, w, from, tap}
			}
		}
	}
	return best
}

// dilate computes the largest sum of image and filter for each window.
func dilate[T number](c call, w *window.Attrs) error {
	g, err := w.Dilation(c.t(0).Shape, c.t(1).Shape)
	if err != nil {
		return err
	}
	y, err := outputOf[T](c, 0, g.Batch, g.OutH, g.OutW, g.InC)
	if err != nil || len(y) == 0 {
		return err
	}
	return dilations(c, g, func(at int, best largestSum[T]) { y[at] = best.value })
}

// dilateGrad computes the gradient with respect to an input of a dilation; place returns the index of its element.
func dilateGrad[T number](c call, w *window.Attrs, of int, place func(g kernels.Window, b int, best largestSum[T]) int) error {
	g, err := w.Dilation(c.t(0).Shape, c.t(1).Shape)
	if err != nil {
		return err
	}
	if err := fits("out_backprop", c.t(2), []int{g.Batch, g.OutH, g.OutW, g.InC}); err != nil {
		return err
	}
	dx, err := outputOf[T](c, 0, c.t(of).Shape...)
	if err != nil || len(dx) == 0 || c.t(2).Len() == 0 {
		return err
	}
	dy, each := tensor.Values[T](c.t(2)), g.OutH*g.OutW*g.InC
	return dilations(c, g, func(at int, best largestSum[T]) {
		if i := place(g, at/each, best); i >= 0 {
			dx[i+at%g.InC] += dy[at]
		}
	})
}

func dilateGradInput[T number](c call, w *window.Attrs) error {
	return dilateGrad(c, w, 0, func(g kernels.Window, b int, best largestSum[T]) int {
		if best.row >= g.InH || best.col >= g.InW {
			return -1
		}
		return ((b*g.InH+best.row)*g.InW + best.col) * g.InC
	})
}

func dilateGradFilter[T number](c call, w *window.Attrs) error {
	return dilateGrad(c, w, 1, func(g kernels.Window, b int, best largestSum[T]) int {
		return max(best.tap, 0) / g.InC * g.InC
	})
}
