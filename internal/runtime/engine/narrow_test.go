package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// narrowCase is a product or convolution whose weights have 16 bits.
type narrowCase struct {
	op      string
	half    tensor.DType
	from    string // "constant", "variable", or "rounded" for a rounded float32 variable
	exactly bool   // the other operand has 16 bits too
}

func (c narrowCase) String() string {
	return fmt.Sprint(c.op, " ", c.half, " ", c.from, " ", c.exactly)
}

const narrowSize = 67

// weights returns numbers of the 16-bit type, as bits and as float32.
func (c narrowCase) weights(shape ...int) (bits, wide *tensor.Tensor) {
	wide = tensor.New(tensor.Float32, shape...)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range tensor.Values[float32](wide) {
		tensor.Values[float32](wide)[i] = float32(r.NormFloat64())
	}
	bits = tensor.New(c.half, shape...)
	convert.Between(tensor.Float32, c.half)(bits.Bytes, wide.Bytes)
	convert.Between(c.half, tensor.Float32)(wide.Bytes, bits.Bytes)
	return bits, wide
}

// program compiles the case or, if plain, the same case with float32 weights.
func (c narrowCase) program(vars *Variables, plain bool) *Program {
	b := graph.NewBuilder(graph.New())
	in, w := batchType(tensor.Float32, narrowSize), fixedType(tensor.Float32, narrowSize, narrowSize)
	out, attrs := in, graph.Attrs{}
	if c.op == "Conv2D" {
		in, w = batchType(tensor.Float32, 5, 4, narrowSize), fixedType(tensor.Float32, 3, 3, narrowSize, narrowSize)
		out, attrs = in, graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}
	}
	if c.exactly {
		attrs[OperandsType] = HalfType(c.half)
	}
	x := b.Placeholder("x", in)
	var read graph.Output
	bits, wide := c.weights(w.Shape.At(0)...)
	narrow := graph.Type{DType: c.half, Shape: w.Shape}
	switch {
	case plain:
		read = b.Const("w", wide)
	case c.from == "constant":
		read = b.Op("Cast", "wide", w, nil, b.Const("w", bits))
	case c.from == "variable":
		read = b.Op("Cast", "wide", w, nil, b.Read(b.Variable("narrow", narrow), narrow))
	default:
		op := map[tensor.DType]string{tensor.BFloat16: "_NearestBFloat16", tensor.Float16: "_NearestFloat16"}[c.half]
		read = b.Op(op, "rounded", w, nil, b.Read(b.Variable("wide", w), w))
	}
	if c.op == "MatMul" { // weights may come in another shape
		flat := fixedType(tensor.Float32, narrowSize*narrowSize)
		shape := func(v ...int32) graph.Output {
			return b.Const(fmt.Sprint("shape", len(v)), ok(tensor.FromSlice(v, len(v))))
		}
		read = b.Op("Reshape", "square", w, nil, b.Op("Reshape", "flat", flat, nil, read, shape(narrowSize*narrowSize)), shape(narrowSize, narrowSize))
	}
	y := b.Op(c.op, "y", out, attrs, x, read)
	y = b.Op("BiasAdd", "biased", out, nil, y, b.Const("bias", tensor.New(tensor.Float32, narrowSize)))
	return ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, vars.dev, vars, Options{}))
}

// TestNarrowWeights: products with 16-bit weights equal products with the same numbers as float32, also after Compact, and no step
// converts the weights to float32.
func TestNarrowWeights(t *testing.T) {
	dev := device.NewHost()
	defer dev.Close()
	for _, op := range []string{"MatMul", "Conv2D"} {
		for _, half := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
			for _, from := range []string{"constant", "variable", "rounded"} {
				for _, exactly := range []bool{false, true} {
					c := narrowCase{op, half, from, exactly}
					t.Run(c.String(), func(t *testing.T) { c.check(t, dev) })
				}
			}
		}
	}
}

func (c narrowCase) check(t *testing.T, dev device.Device) {
	defer kernels.SetLevel(kernels.BestLevel())
	for level := kernels.Portable; level <= kernels.BestLevel(); level++ {
		kernels.SetLevel(level)
		vars := ok(NewVariables(dev))
		shape := []int{narrowSize, narrowSize}
		if c.op == "Conv2D" {
			shape = []int{3, 3, narrowSize, narrowSize}
		}
		bits, wide := c.weights(shape...)
		for name, v := range map[string]*tensor.Tensor{"narrow": bits, "wide": wide} {
			if err := vars.Create(name, v); err != nil {
				t.Fatal(err)
			}
		}
		p, plain := c.program(vars, false), c.program(vars, true)
		if len(p.plan.steps) != 1 {
			t.Errorf("%d steps, expected the product alone", len(p.plan.steps))
		}
		for _, rows := range []int{1, 3, 40} {
			x := tensor.New(tensor.Float32, rows, narrowSize)
			if c.op == "Conv2D" {
				x = tensor.New(tensor.Float32, rows, 5, 4, narrowSize)
			}
			for i := range tensor.Values[float32](x) {
				tensor.Values[float32](x)[i] = float32(i%13) / 4
				if !c.exactly {
					tensor.Values[float32](x)[i] += 0x1p-20 // no bfloat16
				}
			}
			want, got := runOnce(t, plain, rows, x), runOnce(t, p, rows, x)
			for i, v := range want {
				if d := got[i] - v; d > 2e-3 || d < -2e-3 {
					t.Fatalf("level %v, %d rows, element %d: got %v, expected %v", level, rows, i, got[i], v)
				}
			}
			vars.Compact()
			again := runOnce(t, p, rows, x)
			for i, v := range got {
				if again[i] != v {
					t.Fatalf("after Compact element %d is %v, expected %v", i, again[i], v)
				}
			}
		}
		if v := ok(vars.Get("narrow")); !bytes.Equal(v.Bytes, bits.Bytes) {
			t.Error("the weights are others now")
		}
		for _, x := range []*Program{p, plain} {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func runOnce(t *testing.T, p *Program, rows int, x *tensor.Tensor) []float32 {
	t.Helper()
	if err := p.Run(bg, rows, []*tensor.Tensor{x}); err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), tensor.Values[float32](p.Value(0))...)
}

// TestNarrowWeightsAreNotKeptTwice: once a 16-bit variable is packed, its memory is given back, and only the packed 16 bits stay.
func TestNarrowWeightsAreNotKeptTwice(t *testing.T) {
	dev := device.NewHost()
	defer dev.Close()
	vars := ok(NewVariables(dev))
	const n = 512
	w := tensor.New(tensor.BFloat16, n, n)
	if err := vars.Create("w", w); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", batchType(tensor.Float32, n))
	typ := fixedType(tensor.BFloat16, n, n)
	y := b.Op("MatMul", "y", batchType(tensor.Float32, n), graph.Attrs{OperandsType: HalfType(tensor.BFloat16)}, x,
		b.Op("Cast", "wide", fixedType(tensor.Float32, n, n), nil, b.Read(b.Variable("w", typ), typ)))
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, vars, Options{}))
	runOnce(t, p, 1, tensor.New(tensor.Float32, 1, n))
	vars.Compact()
	if got, most := vars.Memory(), int64(2*n*n); got > most {
		t.Errorf("the variables take %d bytes, expected at most %d", got, most)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestAttributesOfModels: a model's attribute of that name says nothing about the weights.
func TestAttributesOfModels(t *testing.T) {
	dev := device.NewHost()
	defer dev.Close()
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
		const v = 1 + 0x1p-12 // no bfloat16
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", batchType(d, 2))
		attrs := graph.Attrs{weightsType: tensor.BFloat16, OperandsType: tensor.BFloat16}
		y := b.Op("MatMul", "y", batchType(d, 2), attrs, x, b.Const("w", fromND(d, nd{[]int{2, 2}, []float64{v, v, v, v}})))
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{}))
		if err := p.Run(bg, 1, []*tensor.Tensor{fromND(d, nd{[]int{1, 2}, []float64{1, 0}})}); err != nil {
			t.Fatal(err)
		}
		if got := p.Value(0).Float(0); got != v {
			t.Errorf("%v: got %v, expected the weight as it is", d, got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
