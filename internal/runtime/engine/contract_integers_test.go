package engine

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// eightBits is an operand with all numbers of an 8-bit type.
func eightBits(d tensor.DType, s string) operand {
	low := 0
	if d == tensor.Int8 {
		low = -128
	}
	return operand{typ: ty(d, s), gen: func(r *rand.Rand, _ int) float64 { return float64(low + r.IntN(256)) }}
}

// integerCase is an op on 8-bit integers with 5 columns; sums computes the product of its operands.
func integerCase(op string, attrs graph.Attrs, a, b operand, out graph.Type, columnwise bool, sums func(a, b nd, out []int) nd) *opCase {
	many := func(d tensor.DType, one float64) operand {
		o := operand{typ: ty(d, "5"), constant: true, values: []float64{one, 2 * one, 0, -one, 3 * one}}
		if !columnwise {
			return operand{typ: ty(d, ""), constant: true, values: []float64{one}}
		}
		return o
	}
	none := func(d tensor.DType) operand { return operand{typ: ty(d, "0"), constant: true} }
	bias, add := none(tensor.Int32), none(tensor.Float32)
	if columnwise {
		bias, add = many(tensor.Int32, 70), many(tensor.Float32, 1.75)
	}
	in := []operand{a, b, scalar(tensor.Int32, 11), many(tensor.Int32, -3), bias, many(tensor.Float32, 0.0078125), add, scalar(tensor.Int32, 4)}
	ref := func(in []nd, out [][]int) []nd {
		at := func(x nd, i int) float64 {
			if len(x.data) == 0 {
				return 0
			}
			return x.data[i%5%len(x.data)]
		}
		a, b := nd{in[0].shape, minus(in[0], in[2])}, nd{in[1].shape, minus(in[1], in[3])}
		y := sums(a, b, out[0])
		for i := range y.data {
			y.data[i] += at(in[4], i)
		}
		return []nd{finished(y, in, at, attrs["Tout"].(tensor.DType))}
	}
	return &opCase{op: op, attrs: attrs, in: in, out: []graph.Type{out}, ref: ref, only: tensor.Float32}
}

// minus subtracts zero points, one for all or one for each column, from numbers.
func minus(x, zero nd) []float64 {
	y := make([]float64, len(x.data))
	for i, v := range x.data {
		y[i] = v - zero.data[i%len(zero.data)]
	}
	return y
}

// finished computes an op's result from the sums.
func finished(y nd, in []nd, at func(x nd, i int) float64, to tensor.DType) nd {
	for i, v := range y.data {
		if to == tensor.Int32 {
			continue
		}
		x := float64(float32(v)*float32(at(in[5], i)) + float32(at(in[6], i)))
		switch to {
		case tensor.Int8:
			x = min(max(math.RoundToEven(x)+in[7].data[0], -128), 127)
		case tensor.Uint8:
			x = min(max(math.RoundToEven(x)+in[7].data[0], 0), 255)
		}
		y.data[i] = x
	}
	return y
}

func integerCases() []*opCase {
	var all []*opCase
	bytes := []tensor.DType{tensor.Int8, tensor.Uint8}
	for _, to := range []tensor.DType{tensor.Int32, tensor.Float32, tensor.Int8, tensor.Uint8} {
		for i, ta := range bytes {
			for k, tb := range bytes {
				attrs := graph.Attrs{"Ta": ta, "Tb": tb, "Tout": to}
				for _, s := range [][3]string{{"B,7", "7,5", "B,5"}, {"B,2,8", "8,5", "B,2,5"}, {"2,B,3", "2,3,5", "2,B,5"}} {
					all = append(all, integerCase(ops.IntegerMatMul.Name, attrs, eightBits(ta, s[0]), eightBits(tb, s[1]), ty(to, s[2]), i == k, matrixSums))
				}
				attrs = graph.Attrs{"Ta": ta, "Tb": tb, "Tout": to, "strides": []int64{1, 1, 2, 1}, "padding": []byte("SAME")}
				all = append(all, integerCase(ops.IntegerConv2D.Name, attrs, eightBits(ta, "B,4,5,2"), eightBits(tb, "3,2,2,5"), ty(to, "B,4,3,5"), i == k, imageSums))
			}
		}
	}
	return all
}

// matrixSums multiplies rows by a matrix, or matrices by matrices.
func matrixSums(a, b nd, out []int) nd {
	y, n, k := newND(out), b.shape[len(b.shape)-1], b.shape[len(b.shape)-2]
	for i := range y.data {
		row, first := i/n, 0
		if len(b.shape) > 2 {
			first = row / out[len(out)-2] * k * n
		}
		for l := range k {
			y.data[i] += a.data[row*k+l] * b.data[first+l*n+i%n]
		}
	}
	return y
}

// imageSums slides windows of 3 by 2 in steps of 1 and 2, with padding of one line before and after, and one column after.
func imageSums(x, w nd, out []int) nd {
	y := newND(out)
	for n := range out[0] {
		for oh := range out[1] {
			for ow := range out[2] {
				for oc := range out[3] {
					for kh := range 3 {
						for kw := range 2 {
							ih, iw := oh+kh-1, 2*ow+kw
							for c := 0; c < 2 && ih >= 0 && ih < x.shape[1] && iw < x.shape[2]; c++ {
								y.data[flat(out, n, oh, ow, oc)] += x.data[flat(x.shape, n, ih, iw, c)] * w.data[flat(w.shape, kh, kw, c, oc)]
							}
						}
					}
				}
			}
		}
	}
	return y
}

// TestWeightsOfBytes checks that programs share one packed 8-bit matrix, that results are the same after Compact, and that the
// matrix is packed again when it has changed.
func TestWeightsOfBytes(t *testing.T) {
	const k, n = 512, 300
	r := rand.New(rand.NewPCG(1, 2))
	vars := ok(NewVariables(device.NewHost()))
	w := tensor.New(tensor.Int8, k, n)
	draw := func() {
		for i := range w.Bytes {
			w.Bytes[i] = byte(r.Uint32())
		}
	}
	draw()
	if err := vars.Create("w", w); err != nil {
		t.Fatal(err)
	}
	compile := func() *Program {
		g := graph.New()
		b := graph.NewBuilder(g)
		x, none := b.Placeholder("x", ty(tensor.Uint8, "B,512")), func(name string, d tensor.DType, n int) graph.Output {
			return b.Const(name, tensor.New(d, n))
		}
		y := b.Node(ops.IntegerMatMul.Name, "y", []graph.Type{ty(tensor.Int32, "B,300")}, graph.Attrs{"Tout": tensor.Int32}, x, b.Read(b.Variable("w", ty(tensor.Int8, "512,300")), ty(tensor.Int8, "512,300")),
			none("za", tensor.Int32, 1), none("zb", tensor.Int32, 1), none("bias", tensor.Int32, 0), none("scale", tensor.Float32, 1), none("add", tensor.Float32, 0), none("zero", tensor.Int32, 1))
		return ok(Compile(g, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y.Out(0)}}, vars.dev, vars, Options{Capacity: 2}))
	}
	x := tensor.New(tensor.Uint8, 2, k)
	for i := range x.Bytes {
		x.Bytes[i] = byte(r.Uint32())
	}
	check := func(p *Program) {
		t.Helper()
		if err := p.Run(context.Background(), 2, []*tensor.Tensor{x}); err != nil {
			t.Fatal(err)
		}
		want := matrixSums(toND(x), toND(w), []int{2, n})
		for i, v := range want.data {
			if got := toND(p.Value(0)).data[i]; got != v {
				t.Fatalf("element %d: got %v, want %v", i, got, v)
			}
		}
	}
	p, q := compile(), compile()
	check(p)
	check(q)
	if most := int64(2*k*n + 32*k + 4*n); vars.Memory() > most {
		t.Errorf("%d bytes: expected the value and one packed form, %d at most", vars.Memory(), most)
	}
	before := vars.Memory()
	vars.Compact()
	if probe := ok(vars.dev.Alloc(compactFrom)); probe.(device.Discarder).Discard() && vars.Memory() > before-k*n {
		t.Errorf("%d bytes after Compact, %d before", vars.Memory(), before)
	}
	check(p)
	if got := ok(vars.Get("w")); !bytes.Equal(got.Bytes, w.Bytes) {
		t.Error("the variable has another value after Compact")
	}
	draw()
	if err := vars.Set("w", w); err != nil {
		t.Fatal(err)
	}
	check(p)
	check(q)
}

// TestWeightsOfBytesInTwoShapes: two products use the same variable as weights, in different shapes.
func TestWeightsOfBytesInTwoShapes(t *testing.T) {
	vars := ok(NewVariables(device.NewHost()))
	w := tensor.New(tensor.Int8, 4, 6)
	for i := range w.Bytes {
		w.Bytes[i] = byte(i - 9)
	}
	if err := vars.Create("w", w); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	read := b.Read(b.Variable("w", ty(tensor.Int8, "4,6")), ty(tensor.Int8, "4,6"))
	turned := b.Op("Reshape", "turned", ty(tensor.Int8, "6,4"), nil, read, b.Const("shape", ok(tensor.FromSlice([]int32{6, 4}, 2))))
	product := func(name, rows, out string, w graph.Output) (x, y graph.Output) {
		x = b.Placeholder(name+"x", ty(tensor.Uint8, rows))
		in := []graph.Output{x, w}
		for i, v := range []*tensor.Tensor{tensor.New(tensor.Int32, 1), tensor.New(tensor.Int32, 1), tensor.New(tensor.Int32, 0), tensor.New(tensor.Float32, 1), tensor.New(tensor.Float32, 0), tensor.New(tensor.Int32, 1)} {
			in = append(in, b.Const(name+string(rune('a'+i)), v))
		}
		return x, b.Op(ops.IntegerMatMul.Name, name, ty(tensor.Int32, out), graph.Attrs{"Tout": tensor.Int32}, in...)
	}
	x, y := product("wide", "B,4", "B,6", read)
	u, z := product("high", "B,6", "B,4", turned)
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x, u}, Fetches: []graph.Output{y, z}}, vars.dev, vars, Options{Capacity: 2}))
	feeds := []*tensor.Tensor{tensor.New(tensor.Uint8, 2, 4), tensor.New(tensor.Uint8, 2, 6)}
	for _, f := range feeds {
		for i := range f.Bytes {
			f.Bytes[i] = byte(i + 1)
		}
	}
	if err := p.Run(context.Background(), 2, feeds); err != nil {
		t.Fatal(err)
	}
	for i, shape := range [][]int{{4, 6}, {6, 4}} {
		w.Shape = shape
		want := matrixSums(toND(feeds[i]), toND(w), []int{2, shape[1]})
		if got := toND(p.Value(i)).data; !slices.Equal(got, want.data) {
			t.Errorf("weights %v: got %v, want %v", shape, got, want.data)
		}
	}
}

// TestFusedIntegers checks that a scale and an addend after a product are fused into it if nothing else reads the values in
// between, and that the result is the same.
func TestFusedIntegers(t *testing.T) {
	for _, c := range []struct {
		name       string
		scale, add string // their shapes
		between    bool   // the scaled sums are fetched too
		op         string
		steps      int
	}{
		{"number", "", "5", false, "AddV2", 1}, {"vector", "5", "5", false, "BiasAdd", 1}, {"one of rank 2", "1,1", "1,5", false, "Add", 1},
		{"rows", "B,1", "5", false, "AddV2", 3}, {"fetched", "", "5", true, "AddV2", 2}, {"one number is added", "", "", false, "AddV2", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(apart bool) ([]string, nd) {
				g := graph.New()
				b := graph.NewBuilder(g)
				x, scale, add := b.Placeholder("x", ty(tensor.Uint8, "B,7")), b.Placeholder("scale", fl(c.scale)), b.Placeholder("add", fl(c.add))
				in := []graph.Output{x}
				for i, v := range integerCase("", nil, operand{}, eightBits(tensor.Int8, "7,5"), graph.Type{}, false, nil).in[1:] {
					if i == 0 {
						v.values = minus(nd{data: []float64{4: 0, 34: 0}}, nd{data: []float64{-3}})
					}
					in = append(in, b.Const("c"+string(rune('a'+i)), fromND(v.typ.DType, nd{v.typ.Shape.At(0), v.values})))
				}
				sums := b.Node(ops.IntegerMatMul.Name, "sums", []graph.Type{ty(tensor.Int32, "B,5")}, graph.Attrs{"Tout": tensor.Int32}, in...)
				out := []graph.Type{fl("B,5")}
				cast := b.Node("Cast", "cast", out, nil, sums.Out(0))
				scaled := b.Node("Mul", "scaled", out, nil, cast.Out(0), scale)
				y := b.Node(c.op, "y", out, nil, scaled.Out(0), add)
				spec := Spec{Feeds: []graph.Output{x, scale, add}, Fetches: []graph.Output{y.Out(0)}}
				if c.between || apart {
					spec.Fetches = append(spec.Fetches, scaled.Out(0))
				}
				if apart {
					spec.Fetches = append(spec.Fetches, cast.Out(0), sums.Out(0))
				}
				dev := device.NewHost()
				p := ok(Compile(g, spec, dev, ok(NewVariables(dev)), Options{Capacity: 3}))
				r := rand.New(rand.NewPCG(1, 2))
				var feeds []*tensor.Tensor
				for _, f := range spec.Feeds {
					v := newND(f.Shape().At(3))
					for i := range v.data {
						v.data[i] = float64(r.IntN(200)) / 4
					}
					feeds = append(feeds, fromND(f.DType(), v))
				}
				if err := p.Run(context.Background(), 3, feeds); err != nil {
					t.Fatal(err)
				}
				return opsOf(p), toND(p.Value(0))
			}
			got, y := run(false)
			if len(got) != c.steps {
				t.Errorf("expected %d steps, got %v", c.steps, got)
			}
			_, z := run(true)
			for i := range z.data {
				if y.data[i] != z.data[i] {
					t.Fatalf("element %d: %v, and %v without fusion", i, y.data[i], z.data[i])
				}
			}
		})
	}
}
