package ops_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// bordered reads dimension 1 of the operand at the index that the border refers to.
func bordered(before, after int, place func(i, n int) int) func(in []*array) *array {
	return func(in []*array) *array {
		s := slices.Clone(in[0].shape)
		n := s[1]
		s[1] += before + after
		return fill(s, func(at []int) float64 {
			from := slices.Clone(at)
			from[1] = place(at[1]-before, n)
			return in[0].at(from...)
		})
	}
}

// interpolated resizes dimension k by the definition, in float64: exact if the sizes divide each other.
func interpolated(x *array, k, size int, nearest bool) *array {
	s := slices.Clone(x.shape)
	n := s[k]
	s[k] = size
	return fill(s, func(at []int) float64 {
		value := func(i int) float64 {
			from := slices.Clone(at)
			from[k] = min(max(i, 0), n-1)
			return x.at(from...)
		}
		middle := (float64(at[k]) + 0.5) * float64(n) / float64(size)
		if nearest {
			return value(int(middle))
		}
		below := math.Floor(middle - 0.5)
		part := middle - 0.5 - below
		return value(int(below))*(1-part) + value(int(below)+1)*part
	})
}

func borderCases() []opCase {
	border := func(b ops.Border, before, after int, place func(i, n int) int) opCase {
		return opCase{fn: "PadBorder", detail: b.String(), in: []operand{batch(3, 2)}, ref: bordered(before, after, place),
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.PadBorder(c, in[0], [][2]int{{}, {before, after}, {}}, b)
			}}
	}
	resize := func(detail string, how ops.Interpolation, in operand, sizes ...int) opCase {
		return opCase{fn: "Resize", detail: detail, in: []operand{in},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Resize(c, in[0], how, sizes...) },
			ref: func(in []*array) *array {
				y := in[0]
				for k, size := range sizes {
					y = interpolated(y, k+1, size, how == ops.Nearest)
				}
				return y
			}}
	}
	return []opCase{
		border(ops.Reflect, 2, 1, func(i, n int) int { return min(max(i, -i), 2*(n-1)-max(i, -i)) }),
		border(ops.Symmetric, 3, 1, func(i, n int) int {
			switch {
			case i < 0:
				return -i - 1
			case i >= n:
				return 2*n - 1 - i
			}
			return i
		}),
		border(ops.Replicate, 1, 5, func(i, n int) int { return min(max(i, 0), n-1) }),
		border(ops.Circular, 3, 2, func(i, n int) int { return (i + n) % n }),
		{fn: "PadBorder", detail: "of two dimensions", in: []operand{batch(3, 4)},
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.PadBorder(c, in[0], [][2]int{{}, {1, 0}, {0, 2}}, ops.Reflect)
			},
			ref: func(in []*array) *array {
				return fill([]int{in[0].shape[0], 4, 6}, func(i []int) float64 {
					return in[0].at(i[0], max(i[1]-1, 1-i[1]), min(i[2], 6-i[2]))
				})
			}},
		{fn: "PadValue", in: []operand{batch(3)},
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.PadValue(c, in[0], [][2]int{{}, {1, 2}}, -1.5)
			},
			ref: func(in []*array) *array {
				return fill([]int{in[0].shape[0], 6}, func(i []int) float64 {
					if i[1] < 1 || i[1] > 3 {
						return -1.5
					}
					return in[0].at(i[0], i[1]-1)
				})
			}},
		resize("twice as large", ops.Bilinear, batch(3, 2, 2), 6, 4),
		resize("smaller", ops.Bilinear, batch(8, 6, 1), 4, 3),
		resize("one pixel", ops.Bilinear, batch(4, 1, 2), 1, 4),
		resize("steps", ops.Bilinear, batch(2, 3), 8),
		resize("volumes", ops.Bilinear, batch(2, 2, 1, 2), 4, 2, 2),
		resize("nearest", ops.Nearest, batch(2, 4, 2), 8, 2),
		{fn: "Resize", detail: "nearest of integers", in: []operand{batch(3, 1).in(-5, 5).of(tensor.Int64)}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Resize(c, in[0], ops.Nearest, 6) },
			ref:   func(in []*array) *array { return interpolated(in[0], 1, 6, true) }},
	}
}

// TestResizeAsTensorFlow: results of tf.image.resize of TensorFlow 2.15, for sizes that do not divide each other.
func TestResizeAsTensorFlow(t *testing.T) {
	squares := []float64{1, 4, 9, 16, 25}
	for _, k := range []struct {
		how  ops.Interpolation
		want []float64
	}{
		{ops.Bilinear, []float64{9}},
		{ops.Bilinear, []float64{3.25, 18.25}},
		{ops.Bilinear, []float64{2, 9, 21.999998092651367}},
		{ops.Bilinear, []float64{1, 2.7142856121063232, 5.428571701049805, 9, 14.000000953674316, 19.85714340209961, 25}},
		{ops.Bilinear, []float64{1, 1.545454502105713, 2.909090995788574, 4.454545497894287, 6.7272725105285645, 9, 12.181818008422852, 15.36363697052002, 19.272727966308594, 23.363637924194336, 25}},
		{ops.Nearest, []float64{9}},
		{ops.Nearest, []float64{1, 9, 25}},
		{ops.Nearest, []float64{1, 4, 4, 9, 16, 16, 25}},
		{ops.Nearest, []float64{1, 1, 1, 4, 4, 9, 9, 9, 16, 16, 25, 25, 25}},
	} {
		p := modeltest.New(t, models.Options{Mode: models.Predict}, func(b *models.Builder) []*G.Node {
			return []*G.Node{ops.Resize(b, b.Input("x", tensor.Float32, b.Batch(), 5, 1, 1), k.how, len(k.want), 1)}
		})
		got := modeltest.Floats(p.Host(t, 1, modeltest.Tensor(tensor.Float32, squares, 1, 5, 1, 1))[0])
		for i, w := range k.want {
			if !(math.Abs(got[i]-w) <= 2e-7*w) {
				t.Errorf("interpolation %d to %d: got %v, TensorFlow has %v", k.how, len(k.want), got, k.want)
				break
			}
		}
	}
}

// TestBordersRefuse: operands that cannot be padded or resized are errors that say what was expected.
func TestBordersRefuse(t *testing.T) {
	pads := func(p [2]int) [][2]int { return [][2]int{{}, p} }
	for want, build := range map[string]func(b *models.Builder, x *G.Node){
		"expected 0 to 2 elements of a reflect border":   func(b *models.Builder, x *G.Node) { ops.PadBorder(b, x, pads([2]int{0, 3}), ops.Reflect) },
		"expected 0 to 3 elements of a symmetric border": func(b *models.Builder, x *G.Node) { ops.PadBorder(b, x, pads([2]int{4, 0}), ops.Symmetric) },
		"padding [-1 0] of dimension 1":                  func(b *models.Builder, x *G.Node) { ops.PadBorder(b, x, pads([2]int{-1, 0}), ops.Circular) },
		"expected none of dimension 0":                   func(b *models.Builder, x *G.Node) { ops.PadBorder(b, x, [][2]int{{1, 0}, {}}, ops.Replicate) },
		"expected one pair per dimension, and Reflect":   func(b *models.Builder, x *G.Node) { ops.PadBorder(b, x, pads([2]int{}), ops.Border(9)) },
		"PadV2: 1 paddings for shape":                    func(b *models.Builder, x *G.Node) { ops.PadValue(b, x, [][2]int{{}}, 1) },
		"expected one for each dimension between":        func(b *models.Builder, x *G.Node) { ops.Resize(b, x, ops.Nearest, 3) },
		"sizes [0] of shape":                             func(b *models.Builder, x *G.Node) { ops.Resize(b, ops.ExpandDims(b, x, 2), ops.Nearest, 0) },
		"expected Nearest, or Bilinear of floats": func(b *models.Builder, x *G.Node) {
			ops.Resize(b, ops.Cast(b, ops.ExpandDims(b, x, 2), tensor.Int32), ops.Bilinear, 4)
		},
	} {
		_, err := models.Build(models.Options{Mode: models.Train, Batch: 5}, func(b *models.Builder) error {
			build(b, b.Input("x", tensor.Float32, b.Batch(), 3))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
