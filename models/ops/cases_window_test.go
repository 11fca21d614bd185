package ops_test

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// windowCases are of convolutions in groups, dilated and transposed, and of volumes.
func windowCases() []opCase {
	one, two := [2]int{1, 1}, [2]int{2, 2}
	return append([]opCase{
		{fn: "Conv2D", detail: "groups", in: []operand{batch(5, 4, 4), param(3, 2, 2, 6)}, ref: convolvedApart(2, one),
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Conv2D(c, in[0], in[1], one, ops.Valid) }},
		{fn: "AtrousConv2D", in: []operand{batch(7, 6, 2), param(3, 2, 2, 3)}, ref: convolvedApart(1, [2]int{2, 3}),
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.AtrousConv2D(c, in[0], in[1], [2]int{2, 3}, ops.Valid)
			}},
		{fn: "AtrousConv2D", detail: "groups", in: []operand{batch(7, 6, 4), param(2, 2, 1, 4)}, ref: convolvedApart(4, two),
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.AtrousConv2D(c, in[0], in[1], two, ops.Valid) }},
		{fn: "AtrousDepthwiseConv2D", in: []operand{batch(6, 6, 3), param(2, 3, 3, 1)},
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.AtrousDepthwiseConv2D(c, in[0], in[1], two, ops.Valid)
			},
			ref: func(in []*array) *array {
				f := in[1]
				return convolvedApart(3, two)([]*array{in[0], fill([]int{f.shape[0], f.shape[1], 1, 3}, func(i []int) float64 { return f.at(i[0], i[1], i[3], 0) })})
			}},
		{fn: "Conv2DTranspose", in: []operand{batch(3, 2, 2), param(3, 2, 4, 2)}, ref: spread([2]int{7, 4}, two),
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.Conv2DTranspose(c, in[0], in[1], [2]int{7, 4}, two, ops.Valid)
			}},
		{fn: "Conv3DTranspose", in: []operand{batch(2, 3, 2, 2), param(3, 2, 1, 3, 2)}, ref: spreadVolumes([3]int{5, 4, 6}, [3]int{2, 1, 3}),
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.Conv3DTranspose(c, in[0], in[1], [3]int{5, 4, 6}, [3]int{2, 1, 3}, ops.Valid)
			}},
	}, volumeCases()...)
}

// convolvedApart is a convolution in groups with taps so far apart, without padding.
func convolvedApart(groups int, rates [2]int) func(in []*array) *array {
	return func(in []*array) *array {
		x, f := in[0], in[1]
		each := f.shape[3] / groups
		h, w := x.shape[1]-(f.shape[0]-1)*rates[0], x.shape[2]-(f.shape[1]-1)*rates[1]
		return fill([]int{x.shape[0], h, w, f.shape[3]}, func(i []int) float64 {
			sum := 0.0
			for r := range f.shape[0] {
				for c := range f.shape[1] {
					for k := range f.shape[2] {
						sum += x.at(i[0], i[1]+r*rates[0], i[2]+c*rates[1], i[3]/each*f.shape[2]+k) * f.at(r, c, k, i[3])
					}
				}
			}
			return sum
		})
	}
}

// spreadVolumes is a transposed convolution over a volume of that size, without padding.
func spreadVolumes(size, strides [3]int) func(in []*array) *array {
	return func(in []*array) *array {
		x, f := in[0], in[1]
		return fill([]int{x.shape[0], size[0], size[1], size[2], f.shape[3]}, func(i []int) float64 {
			sum := 0.0
			for a := range x.shape[1] {
				for b := range x.shape[2] {
					for d := range x.shape[3] {
						tap := [3]int{i[1] - a*strides[0], i[2] - b*strides[1], i[3] - d*strides[2]}
						if min(tap[0], tap[1], tap[2]) < 0 || tap[0] >= f.shape[0] || tap[1] >= f.shape[1] || tap[2] >= f.shape[2] {
							continue
						}
						for k := range x.shape[4] {
							sum += x.at(i[0], a, b, d, k) * f.at(tap[0], tap[1], tap[2], i[4], k)
						}
					}
				}
			}
			return sum
		})
	}
}

// spread is a transposed convolution over an image of that size, without padding.
func spread(size, strides [2]int) func(in []*array) *array {
	return func(in []*array) *array {
		x, f := in[0], in[1]
		return fill([]int{x.shape[0], size[0], size[1], f.shape[2]}, func(i []int) float64 {
			sum := 0.0
			for r := range x.shape[1] {
				for c := range x.shape[2] {
					kr, kc := i[1]-r*strides[0], i[2]-c*strides[1]
					if kr < 0 || kc < 0 || kr >= f.shape[0] || kc >= f.shape[1] {
						continue
					}
					for k := range x.shape[3] {
						sum += x.at(i[0], r, c, k) * f.at(kr, kc, i[3], k)
					}
				}
			}
			return sum
		})
	}
}

func volumeCases() []opCase {
	var out []opCase
	for _, g := range []struct {
		detail  string
		strides [3]int
		padding ops.Padding
		before  [3]int
		size    [3]int // of the result
	}{{"valid", [3]int{1, 1, 1}, ops.Valid, [3]int{}, [3]int{2, 3, 2}}, {"same strided", [3]int{2, 1, 2}, ops.Same, [3]int{0, 0, 0}, [3]int{2, 4, 2}}} {
		size := [3]int{2, 2, 2}
		// visit calls f for the elements of a window of the result.
		visit := func(x *array, i []int, f func(at [3]int, tap [3]int)) {
			for k := range 8 {
				tap, at, inside := [3]int{k / 4, k / 2 % 2, k % 2}, [3]int{}, true
				for d := range 3 {
					at[d] = i[1+d]*g.strides[d] - g.before[d] + tap[d]
					inside = inside && at[d] >= 0 && at[d] < x.shape[1+d]
				}
				if inside {
					f(at, tap)
				}
			}
		}
		result := func(x *array, channels int, f func(i []int) float64) *array {
			return fill([]int{x.shape[0], g.size[0], g.size[1], g.size[2], channels}, f)
		}
		out = append(out, opCase{fn: "Conv3D", detail: g.detail, in: []operand{batch(3, 4, 3, 2), param(2, 2, 2, 2, 3)},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Conv3D(c, in[0], in[1], g.strides, g.padding) },
			ref: func(in []*array) *array {
				return result(in[0], 3, func(i []int) float64 {
					sum := 0.0
					visit(in[0], i, func(at, tap [3]int) {
						for k := range 2 {
							sum += in[0].at(i[0], at[0], at[1], at[2], k) * in[1].at(tap[0], tap[1], tap[2], k, i[4])
						}
					})
					return sum
				})
			}})
		for _, k := range []struct {
			fn string
			op func(c models.Context, x *G.Node, w, s [3]int, p ops.Padding) *G.Node
		}{{"MaxPool3D", ops.MaxPool3D}, {"AvgPool3D", ops.AvgPool3D}} {
			out = append(out, opCase{fn: k.fn, detail: g.detail, in: []operand{batch(3, 4, 3, 2)},
				build: func(c models.Context, in []*G.Node) *G.Node { return k.op(c, in[0], size, g.strides, g.padding) },
				ref: func(in []*array) *array {
					return result(in[0], 2, func(i []int) float64 {
						sum, n, top := 0.0, 0.0, math.Inf(-1)
						visit(in[0], i, func(at, _ [3]int) {
							v := in[0].at(i[0], at[0], at[1], at[2], i[4])
							sum, n, top = sum+v, n+1, max(top, v)
						})
						if k.fn == "AvgPool3D" {
							return sum / n
						}
						return top
					})
				}})
		}
	}
	return out
}
