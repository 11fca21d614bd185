package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestNormOfMeansFarFromZero checks that columns such as years and incomes keep their digits: with given moments, with the
// batch's moments, with an addition and a ReLU after it, and in the gradient.
func TestNormOfMeansFarFromZero(t *testing.T) {
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		for _, sizes := range [][]int{{7}, {3, 7}, {3, 2, 7}} {
			for _, training := range []bool{false, true} {
				for _, added := range []bool{false, true} {
					t.Run(fmt.Sprint(sizes, training, added), func(t *testing.T) { farNorm(t, dev, sizes, training, added) })
				}
				t.Run(fmt.Sprint("gradient", sizes, training), func(t *testing.T) { farNormGrad(t, dev, sizes, training) })
			}
		}
	})
}

// farOperands are rows of 7 columns whose means are 0, 1e4, -2e4 and so on, with a spread of 1, their moments, a scale and an offset.
func farOperands(n int, sizes []int) (x, scale, offset, mean, variance *tensor.Tensor, columns [][]float64) {
	r := rand.New(rand.NewPCG(1, 2))
	x = tensor.New(tensor.Float32, append([]int{n}, sizes...)...)
	columns = make([][]float64, 7)
	for i := range x.Len() {
		c := i % 7
		v := float32(r.NormFloat64() + float64(c)*1e4*math.Pow(-1, float64(c)))
		tensor.Values[float32](x)[i] = v
		columns[c] = append(columns[c], float64(v))
	}
	scale, offset, mean, variance = tensor.New(tensor.Float32, 7), tensor.New(tensor.Float32, 7), tensor.New(tensor.Float32, 7), tensor.New(tensor.Float32, 7)
	for c, all := range columns {
		m, v := momentsOf(all)
		tensor.Values[float32](scale)[c], tensor.Values[float32](offset)[c] = float32(1+c), float32(c)/4-1
		tensor.Values[float32](mean)[c], tensor.Values[float32](variance)[c] = float32(m), float32(v)
	}
	return x, scale, offset, mean, variance, columns
}

func momentsOf(all []float64) (mean, variance float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		variance += (v - mean) * (v - mean) / float64(len(all))
	}
	return mean, variance
}

// farMoments are the moments by which a column is normalized: its own, or the given ones.
func farMoments(training bool, c int, column []float64, mean, variance *tensor.Tensor) (m, v float64) {
	if training {
		return momentsOf(column)
	}
	return mean.Float(c), variance.Float(c)
}

func farNorm(t *testing.T, dev device.Device, sizes []int, training, added bool) {
	const n = 40
	b := graph.NewBuilder(graph.New())
	ft, ct := batchType(tensor.Float32, sizes...), fixedType(tensor.Float32, 7)
	x, scale, offset, mean, variance, columns := farOperands(n, sizes)
	in, side := b.Placeholder("x", ft), b.Placeholder("side", ft)
	bn := b.Node("FusedBatchNormV3", "bn", []graph.Type{ft, ct, ct, ct, ct, fixedType(tensor.Float32)}, graph.Attrs{"epsilon": float32(.01), "is_training": training},
		in, b.Const("scale", scale), b.Const("offset", offset), b.Const("mean", mean), b.Const("variance", variance))
	out := bn.Out(0)
	if added {
		out = b.Op("Relu", "relu", ft, nil, b.Op("AddV2", "sum", ft, nil, out, side))
	}
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{in, side}, Fetches: []graph.Output{out, bn.Out(1)}}, dev, ok(NewVariables(dev)), Options{}))
	extra := mlpLike(x, 3)
	if err := p.Run(bg, n, []*tensor.Tensor{x, extra}); err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() {
		c := i % 7
		m, v := farMoments(training, c, columns[c], mean, variance)
		want := (x.Float(i)-m)/math.Sqrt(v+float64(float32(.01)))*scale.Float(c) + offset.Float(c)
		if added {
			want = max(want+extra.Float(i), 0)
		}
		// If the batch's means are computed, they have a rounding error of about 1e-9.
		if got := p.Value(0).Float(i); math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) {
			t.Fatalf("element %d: expected %v, got %v", i, want, got)
		}
		if got := p.Value(1).Float(c); math.Abs(got-m) > 1e-7*max(1, math.Abs(m)) {
			t.Fatalf("mean %d: expected %v, got %v", c, m, got)
		}
	}
}

// mlpLike are small numbers of the shape of x.
func mlpLike(x *tensor.Tensor, seed uint64) *tensor.Tensor {
	y, r := tensor.New(tensor.Float32, x.Shape...), rand.New(rand.NewPCG(seed, 2))
	for i := range y.Len() {
		tensor.Values[float32](y)[i] = float32(r.NormFloat64())
	}
	return y
}

func farNormGrad(t *testing.T, dev device.Device, sizes []int, training bool) {
	const n = 40
	b := graph.NewBuilder(graph.New())
	ft, ct, none := batchType(tensor.Float32, sizes...), fixedType(tensor.Float32, 7), fixedType(tensor.Float32, 0)
	x, scale, _, mean, variance, _ := farOperands(n, sizes)
	in, dy := b.Placeholder("x", ft), b.Placeholder("dy", ft)
	grad := b.Node("FusedBatchNormGradV3", "grad", []graph.Type{ft, ct, ct, none, none}, graph.Attrs{"epsilon": float32(.01), "is_training": training},
		dy, in, b.Const("scale", scale), b.Const("mean", mean), b.Const("variance", variance), b.Const("reserve", tensor.New(tensor.Float32)))
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{in, dy}, Fetches: []graph.Output{grad.Out(0), grad.Out(1), grad.Out(2)}}, dev, ok(NewVariables(dev)), Options{}))
	g := mlpLike(x, 4)
	if err := p.Run(bg, n, []*tensor.Tensor{x, g}); err != nil {
		t.Fatal(err)
	}
	var operands []nd
	for _, v := range []*tensor.Tensor{g, x, scale, mean, variance} {
		operands = append(operands, toND(v))
	}
	for k, want := range normGradRef(operands, training) {
		for i, w := range want.data {
			if got := p.Value(k).Float(i); math.Abs(got-w) > 1e-4*max(1, math.Abs(w)) {
				t.Fatalf("result %d, element %d: expected %v, got %v", k, i, w, got)
			}
		}
	}
}
