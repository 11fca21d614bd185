package session_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// bytesOf is a tensor of 8-bit elements.
func bytesOf(d tensor.DType, shape ...int) *tensor.Tensor {
	x := tensor.New(d, shape...)
	for i := range x.Bytes {
		x.Bytes[i] = byte(37*i + 5)
	}
	return x
}

// TestProductsOfCodedValues: a product of the results of DequantizeLinear is exactly that, whatever the scales and zero points are,
// even if another node reads these results.
func TestProductsOfCodedValues(t *testing.T) {
	const signed, unsigned = tensor.Int8, tensor.Uint8
	vector := func(v ...float32) *tensor.Tensor { return elements(v, len(v)) }
	ints := func(d tensor.DType, v ...byte) *tensor.Tensor {
		return &tensor.Tensor{DType: d, Shape: []int{len(v)}, Bytes: v}
	}
	of32 := func(v ...int32) *tensor.Tensor {
		x, err := tensor.FromSlice(v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	half := tensor.Scalar(float32(0.5))
	type operand struct {
		u, scale, zero *tensor.Tensor
		axis           int
	}
	for name, c := range map[string]struct {
		op    string
		attrs map[string]any
		a, b  operand
	}{
		"matrices":       {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 5), half, nil, 1}},
		"columns":        {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, ints(unsigned, 7), 1}, operand{bytesOf(signed, 4, 5), vector(1, 2, .5, .25, 4), ints(signed, 1, 2, 3, 4, 5), -1}},
		"rows of b":      {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 5), vector(1, 2, .5, .25), ints(signed, 1, 2, 3, 4), 0}},
		"rows of square": {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 4), vector(1, 2, .5, .25), nil, 0}},
		"columns of a":   {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), vector(1, 2, .5, .25), nil, 1}, operand{bytesOf(signed, 4, 4), half, nil, 0}},
		"no columns":     {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 0), half, nil, 0}},
		"nothing":        {"MatMul", nil, operand{bytesOf(unsigned, 3, 0), half, nil, 1}, operand{bytesOf(signed, 0, 2), half, nil, 0}},
		"one":            {"MatMul", nil, operand{bytesOf(unsigned, 1, 1), half, nil, 1}, operand{bytesOf(signed, 1, 1), vector(2), ints(signed, 3), 0}},
		"vector":         {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4), half, nil, 0}},
		"heads":          {"MatMul", nil, operand{bytesOf(unsigned, 2, 3, 4), half, nil, 1}, operand{bytesOf(unsigned, 2, 4, 5), vector(1, 2, .5, .25, 4), nil, 2}},
		"heads of b":     {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(unsigned, 2, 4, 2), vector(1, 2), nil, 0}},
		"gemm":           {"Gemm", map[string]any{"transB": 1, "alpha": float32(2)}, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 4), vector(1, 2, .5, .25), ints(signed, 1, 2, 3, 4), 0}},
		"gemm, wrong":    {"Gemm", map[string]any{"transB": 1, "alpha": float32(2)}, operand{bytesOf(unsigned, 3, 4), half, nil, 1}, operand{bytesOf(signed, 4, 4), vector(1, 2, .5, .25), ints(signed, 1, 2, 3, 4), 1}},
		"gemm, turned":   {"Gemm", map[string]any{"transA": 1}, operand{bytesOf(unsigned, 4, 3), half, nil, 1}, operand{bytesOf(signed, 4, 4), vector(1, 2, .5, .25), ints(signed, 1, 2, 3, 4), 1}},
		"conv":           {"Conv", map[string]any{"pads": []int{1, 1, 1, 1}}, operand{bytesOf(unsigned, 1, 2, 4, 4), half, ints(unsigned, 9), 1}, operand{bytesOf(signed, 3, 2, 3, 3), vector(1, 2, .5), nil, 0}},
		"conv, wrong":    {"Conv", map[string]any{"pads": []int{1, 1, 1, 1}}, operand{bytesOf(unsigned, 1, 2, 4, 4), half, ints(unsigned, 9), 1}, operand{bytesOf(signed, 2, 2, 3, 3), vector(1, 2), nil, 1}},
		"conv of series": {"Conv", map[string]any{"pads": []int{2, 1}}, operand{bytesOf(signed, 1, 2, 6), half, ints(signed, 9), 1}, operand{bytesOf(signed, 3, 2, 3), half, nil, 0}},
		"wide zero":      {"Conv", map[string]any{"pads": []int{1, 1, 1, 1}}, operand{bytesOf(unsigned, 1, 2, 4, 4), half, of32(300), 1}, operand{bytesOf(signed, 3, 2, 3, 3), half, nil, 0}},
		"zero of floats": {"MatMul", nil, operand{bytesOf(unsigned, 3, 4), half, vector(2.5), 1}, operand{bytesOf(signed, 4, 5), half, nil, 1}},
	} {
		for _, constants := range []bool{true, false} {
			what := name + " given"
			if constants {
				what = name
			}
			t.Run(what, func(t *testing.T) {
				var in []*tensor.Tensor
				g := onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}
				value := func(name string, v *tensor.Tensor, constant bool) string {
					if v == nil {
						return ""
					}
					if constant {
						g.Initializers = append(g.Initializers, onnx.Initializer{Name: name, Tensor: v})
						return name
					}
					in = append(in, v)
					return "x" + string(rune('0'+len(in)-1))
				}
				node := func(op string, attrs map[string]any, out string, in ...string) string {
					g.Nodes = append(g.Nodes, onnx.Node{Op: op, Inputs: in, Outputs: []string{out}, Attrs: attrs})
					return out
				}
				decoded := func(name string, o operand, constant bool) string {
					in := []string{value(name+"u", o.u, constant), value(name+"s", o.scale, constants)}
					if z := value(name+"z", o.zero, constants); z != "" {
						in = append(in, z)
					}
					return node("DequantizeLinear", map[string]any{"axis": o.axis}, name, in...)
				}
				a, b := decoded("a", c.a, false), decoded("b", c.b, constants)
				same := func(v string) string { return node("Neg", nil, v+"same", node("Neg", nil, v+"less", v)) }
				node(c.op, c.attrs, "product", a, b)
				node("Sub", nil, "y", "product", node(c.op, c.attrs, "floats", same(a), same(b)))
				m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: g}
				got, err := answerONNX(t, m, in, func(i int) (dims []onnx.Dim) {
					for _, n := range in[i].Shape {
						dims = append(dims, onnx.Dim{Size: n})
					}
					return dims
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range got.Len() {
					if got.Float(i) != 0 {
						t.Fatalf("element %d is off by %v", i, got.Float(i))
					}
				}
			})
		}
	}
}

// TestLargeBiasBesideTheHost: a device that computes 8-bit integers as floats adds a 32-bit bias exactly too.
func TestLargeBiasBesideTheHost(t *testing.T) {
	bias, err := tensor.FromSlice([]int32{1<<24 + 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := tensor.Scalar(float32(1))
	m := onnx.Model{Opsets: map[string]int{"": 17, "com.microsoft": 1}, Graph: onnx.Graph{
		Inputs:       []onnx.Value{{Name: "a", DType: tensor.Uint8, Dims: []onnx.Dim{{Size: 1}, {Size: 1}}}},
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "one", Tensor: one}, {Name: "zero", Tensor: tensor.New(tensor.Uint8)}, {Name: "b", Tensor: &tensor.Tensor{DType: tensor.Uint8, Shape: []int{1, 1}, Bytes: []byte{1}}}, {Name: "bias", Tensor: bias}},
		Nodes:        []onnx.Node{{Domain: "com.microsoft", Op: "QGemm", Inputs: []string{"a", "one", "zero", "b", "one", "zero", "bias"}, Outputs: []string{"y"}}}}}
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, onnx.File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]device.Device{"host": nil, "other": device.NewFake()} {
		s, err := session.Open(t.Context(), dir, session.Options{MaxConcurrent: 1, Device: d})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sig := s.Signatures()[savedmodel.DefaultSignature]
		a := &tensor.Tensor{DType: tensor.Uint8, Shape: []int{1, 1}, Bytes: []byte{1}}
		got, err := s.Run(t.Context(), map[string]*tensor.Tensor{sig.GetInputs()["a"].GetName(): a}, []string{sig.GetOutputs()["y"].GetName()})
		if err != nil {
			t.Fatal(err)
		}
		if v := got[0].Float(0); v != 1<<24+2 {
			t.Errorf("%s: got %v, expected %v", name, v, 1<<24+2)
		}
	}
}

// TestSumsOfBytesWrap: sums beyond 32 bits wrap around, as in ONNX Runtime, even if the product is computed in floats.
func TestSumsOfBytesWrap(t *testing.T) {
	const terms = 40000
	a, b := tensor.New(tensor.Uint8, 2, terms), tensor.New(tensor.Uint8, terms, 1)
	for _, v := range []*tensor.Tensor{a, b} {
		for i := range v.Bytes {
			v.Bytes[i] = 255
		}
	}
	for name, zero := range map[string]*tensor.Tensor{"one zero point": tensor.New(tensor.Uint8), "zero points of rows": tensor.New(tensor.Uint8, 2)} {
		g := onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Int32, Unranked: true}}, Initializers: []onnx.Initializer{{Name: "z", Tensor: zero}},
			Nodes: []onnx.Node{{Op: "MatMulInteger", Inputs: []string{"x0", "x1", "z"}, Outputs: []string{"y"}}}}
		in := []*tensor.Tensor{a, b}
		got, err := answerONNX(t, onnx.Model{Opsets: map[string]int{"": 17}, Graph: g}, in, func(i int) (dims []onnx.Dim) {
			for _, n := range in[i].Shape {
				dims = append(dims, onnx.Dim{Size: n})
			}
			return dims
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Len() {
			if got.Float(i) != terms*255*255-1<<32 {
				t.Errorf("%s: got %v, expected %d", name, got.Float(i), terms*255*255-1<<32)
			}
		}
	}
}

// TestConvolutionsOfBytesAreExact: sums of products of bytes are exact, even if the convolution is computed in floats: with a zero point
// of open size, and in groups. Winograd's form would round.
func TestConvolutionsOfBytesAreExact(t *testing.T) {
	const size, inputs, outputs = 34, 28, 16
	for _, groups := range []int{1, 4} {
		x, w, zero := tensor.New(tensor.Uint8, 1, inputs*groups, size, size), tensor.New(tensor.Uint8, outputs, inputs, 3, 3), tensor.New(tensor.Uint8, 1)
		r := rand.New(rand.NewPCG(1, 2))
		for _, v := range []*tensor.Tensor{x, w} {
			for i := range v.Bytes {
				v.Bytes[i] = byte(r.Uint32())
			}
		}
		in := []*tensor.Tensor{x, w, zero}
		g := onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Int32, Unranked: true}}, Nodes: []onnx.Node{{Op: "ConvInteger",
			Inputs: []string{"x0", "x1", "x2"}, Outputs: []string{"y"}, Attrs: map[string]any{"group": groups}}}}
		y, err := answerONNX(t, onnx.Model{Opsets: map[string]int{"": 17}, Graph: g}, in, func(i int) (dims []onnx.Dim) {
			for _, n := range in[i].Shape {
				dims = append(dims, onnx.Dim{Size: n})
			}
			if i == 2 {
				return []onnx.Dim{{Symbol: "open"}}
			}
			return dims
		})
		if err != nil {
			t.Fatal(err)
		}
		const side = size - 2
		for at, got := range tensor.Values[int32](y) {
			out, row, column := at/(side*side), at/side%side, at%side
			first, want := out/(outputs/groups)*inputs, int32(0)
			for c := range inputs {
				for k := range 9 {
					want += int32(x.Bytes[((first+c)*size+row+k/3)*size+column+k%3]) * int32(w.Bytes[(out*inputs+c)*9+k])
				}
			}
			if got != want {
				t.Fatalf("%d groups: output %d at %d, %d: got %d, expected %d", groups, out, row, column, got, want)
			}
		}
	}
}
