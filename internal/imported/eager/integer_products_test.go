package eager

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// drawn returns a tensor of random 8-bit elements.
func drawn(r *rand.Rand, d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Bytes {
		t.Bytes[i] = byte(r.Uint32())
	}
	return t
}

// integerInputs returns the inputs of an 8-bit product: zero points, bias, scale, addend and the result's zero point.
func integerInputs(a, b *tensor.Tensor, zeroA, zeroB int32, n int) []Value {
	bias, add := tensor.New(tensor.Int32, n), tensor.New(tensor.Float32, n)
	for i := range n {
		tensor.Values[int32](bias)[i], tensor.Values[float32](add)[i] = int32(100*i-77), float32(i)/4
	}
	all := []*tensor.Tensor{a, b, tensor.Scalar(zeroA), tensor.Scalar(zeroB), bias, tensor.Scalar(float32(0.01)), add, tensor.Scalar(int32(3))}
	in := make([]Value, len(all))
	for i, t := range all {
		in[i].T = t
	}
	return in
}

// runNode computes a node with one result.
func runNode(t *testing.T, n *graph.Node, in ...Value) (*tensor.Tensor, error) {
	t.Helper()
	k, err := Prepare(n)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Value, 1)
	err = k(context.Background(), &Env{Limit: 1 << 20}, in, out)
	return out[0].T, err
}

// TestIntegerProducts compares 8-bit products and convolutions, and what is computed from their sums, with float64.
func TestIntegerProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	float := func(x *tensor.Tensor, zero int32) *tensor.Tensor {
		y := tensor.New(tensor.Float64, x.Shape...)
		for i := range x.Len() {
			tensor.Values[float64](y)[i] = float64(x.Int(i) - int64(zero))
		}
		return y
	}
	window := graph.Attrs{"strides": []int64{1, 2, 1, 1}, "padding": []byte("SAME")}
	for _, c := range []struct {
		op, as *ops.Def
		a, b   []int
		attrs  graph.Attrs
	}{
		{ops.IntegerMatMul, ops.BatchMatMulV2, []int{3, 7}, []int{7, 5}, nil},
		{ops.IntegerMatMul, ops.BatchMatMulV2, []int{2, 3, 7}, []int{7, 5}, nil},
		{ops.IntegerMatMul, ops.BatchMatMulV2, []int{2, 1, 3, 7}, []int{4, 7, 5}, nil},
		{ops.IntegerMatMul, ops.BatchMatMulV2, []int{0, 7}, []int{7, 5}, nil},
		{ops.IntegerMatMul, ops.BatchMatMulV2, []int{2, 0}, []int{0, 5}, nil},
		{ops.IntegerConv2D, ops.Conv2D, []int{2, 6, 5, 3}, []int{3, 3, 3, 5}, window},
	} {
		for _, types := range [][2]tensor.DType{{tensor.Uint8, tensor.Int8}, {tensor.Int8, tensor.Int8}, {tensor.Uint8, tensor.Uint8}, {tensor.Int8, tensor.Uint8}} {
			a, b := drawn(r, types[0], c.a...), drawn(r, types[1], c.b...)
			attrs := graph.Attrs{"T": tensor.Float64}
			for k, v := range c.attrs {
				attrs[k] = v
			}
			sums, err := runNode(t, &graph.Node{Name: "n", Op: c.as.Name, Attrs: attrs, Outputs: make([]graph.Type, 1)}, Value{T: float(a, 11)}, Value{T: float(b, -5)})
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []tensor.DType{tensor.Int32, tensor.Float32, tensor.Int8, tensor.Uint8} {
				name := fmt.Sprint(c.op.Name, c.a, c.b, types, to)
				attrs := graph.Attrs{"Ta": types[0], "Tb": types[1], "Tout": to}
				for k, v := range c.attrs {
					attrs[k] = v
				}
				in := integerInputs(a, b, 11, -5, 5)
				got, err := runNode(t, &graph.Node{Name: "n", Op: c.op.Name, Attrs: attrs, Outputs: make([]graph.Type, 1)}, in...)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if fmt.Sprint(got.Shape) != fmt.Sprint(sums.Shape) || got.DType != to {
					t.Fatalf("%s: got %v %v, want %v", name, got.DType, got.Shape, sums.Shape)
				}
				for i := range got.Len() {
					if want := wanted(tensor.Values[float64](sums)[i], i%5, in, to); got.Float(i) != want {
						t.Fatalf("%s: element %d: got %v, want %v", name, i, got.Float(i), want)
					}
				}
			}
		}
	}
}

// wanted returns the result for a sum in column i.
func wanted(sum float64, i int, in []Value, to tensor.DType) float64 {
	sum += in[4].T.Float(i)
	if to == tensor.Int32 {
		return sum
	}
	x := float32(sum)*float32(in[5].T.Float(0)) + float32(in[6].T.Float(i))
	if to == tensor.Float32 {
		return float64(x)
	}
	low, high := 0.0, 255.0
	if to == tensor.Int8 {
		low, high = -128, 127
	}
	return min(max(math.RoundToEven(float64(x))+in[7].T.Float(0), low), high)
}

// TestIntegerProductsOfOtherSizes: inputs of wrong sizes are refused, and named.
func TestIntegerProductsOfOtherSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := &graph.Node{Name: "n", Op: ops.IntegerMatMul.Name, Attrs: graph.Attrs{"Ta": tensor.Uint8, "Tb": tensor.Int8, "Tout": tensor.Int32}, Outputs: make([]graph.Type, 1)}
	for i, shape := range map[int][]int{0: {2, 6}, 1: {7}, 2: {2}, 3: {4}, 4: {1}, 5: {0}, 6: {4}, 7: {5}} {
		in := integerInputs(drawn(r, tensor.Uint8, 2, 7), drawn(r, tensor.Int8, 7, 5), 1, 2, 5)
		in[i].T = tensor.New(in[i].T.DType, shape...)
		if _, err := runNode(t, n, in...); err == nil {
			t.Errorf("input %d of shape %v was taken", i, shape)
		}
	}
}

// TestQuantizedPadding uses zero points beyond 8 bits: padding is their low bits, or counts for nothing if they are negative.
func TestQuantizedPadding(t *testing.T) {
	g := kernels.Window{Batch: 2, InH: 3, InW: 4, InC: 2, OutH: 3, OutW: 4, OutC: 3, KH: 3, KW: 3, StrideH: 1, StrideW: 1, DilH: 1, DilW: 1, PadTop: 1, PadLeft: 1}
	r := rand.New(rand.NewPCG(1, 2))
	for _, zero := range []int32{0, 9, 255, 300, -7} {
		p := quantizedOperands{x: drawn(r, tensor.Uint8, 2, 3, 4, 2).Bytes, y: drawn(r, tensor.Uint8, 3, 3, 2, 3).Bytes, zeroX: zero, zeroY: 100}
		y := make([]int32, 2*3*4*3)
		p.convolve(g, y)
		padding := int32(0)
		if zero >= 0 {
			padding = zero&255 - zero
		}
		for i, got := range y {
			out, col, line, image := i%3, i/3%4, i/12%3, i/36
			var want int32
			for tap := range 18 {
				h, w, x := line+tap/6-1, col+tap/2%3-1, padding
				if h >= 0 && h < 3 && w >= 0 && w < 4 {
					x = int32(p.x[((image*3+h)*4+w)*2+tap%2]) - zero
				}
				want += x * (int32(p.y[tap*3+out]) - 100)
			}
			if got != want {
				t.Fatalf("zero point %d, element %d: got %d, want %d", zero, i, got, want)
			}
		}
	}
}
