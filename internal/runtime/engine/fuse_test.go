package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// fusedCases add a bias and ReLU to the cases of MatMul and Conv2D.
func fusedCases() []*opCase {
	var all []*opCase
	for _, c := range append(matmulCases(), convCases()...) {
		if c.op != "MatMul" && c.op != "Conv2D" {
			continue
		}
		dims := c.out[0].Shape.Dims
		if last := dims[len(dims)-1]; !last.Static() {
			continue
		}
		bias := operand{typ: graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: dims[len(dims)-1:]}}, gen: edgeGen}
		for _, fused := range [][][]byte{{[]byte("BiasAdd")}, {[]byte("BiasAdd"), []byte("Relu")}} {
			attrs := graph.Attrs{"fused_ops": fused}
			for k, v := range c.attrs {
				attrs[k] = v
			}
			all = append(all, &opCase{op: "_Fused" + c.op, attrs: attrs, in: append(slices.Clone(c.in), bias), out: c.out, tol: c.tol,
				ref: func(in []nd, out [][]int) []nd {
					r := c.ref(in[:2], out)[0]
					for i := range r.data {
						r.data[i] += in[2].data[i%len(in[2].data)]
						if len(fused) == 2 {
							r.data[i] = math.Max(r.data[i], 0)
						}
					}
					return []nd{r}
				}})
		}
	}
	return all
}

func opsOf(p *Program) []string {
	var names []string
	for _, s := range p.steps {
		names = append(names, s.op.node.Op)
	}
	return names
}

// TestFusion checks which ops of a training step are merged, and that fetching a value in between keeps its op.
func TestFusion(t *testing.T) {
	dev := device.NewHost()
	m := newMLP(tensor.Float32, 2, 3, 2, 0.1)
	p := ok(Compile(m.g, m.spec, dev, m.variables(t, dev, 1), Options{}))
	got := opsOf(p)
	for op, want := range map[string]int{"_FusedMatMul": 2, "MatMul": 3, "BiasAdd": 0, "Relu": 0, "ReluGrad": 1} {
		n := 0
		for _, o := range got {
			if o == op {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: expected %d, got %d in %v", op, want, n, got)
		}
	}
	m.spec.Fetches = append(m.spec.Fetches, m.g.Node("BiasAdd").Out(0))
	p = ok(Compile(m.g, m.spec, dev, m.variables(t, dev, 1), Options{}))
	if got := opsOf(p); !slices.Contains(got, "Relu") {
		t.Errorf("the fetched bias addition was merged with ReLU: %v", got)
	}
}

// TestNormReluFusion checks that the merged op serves the users and fetches of ReLU.
func TestNormReluFusion(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		b := graph.NewBuilder(graph.New())
		ft, ct := batchType(tensor.Float32, 2), fixedType(tensor.Float32, 2)
		x := b.Placeholder("x", ft)
		one, zero := b.Const("one", dense([]float32{1, 1}, 2)), b.Const("zero", dense([]float32{0, 0}, 2))
		bn := b.Node("FusedBatchNormV3", "bn", []graph.Type{ft, ct, ct, ct, ct, fixedType(tensor.Float32)}, graph.Attrs{"epsilon": float32(0)}, x, one, zero, zero, one)
		relu := b.Op("Relu", "relu", ft, nil, bn.Out(0))
		neg := b.Op("Neg", "neg", ft, nil, relu)
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{relu, neg, bn.Out(1)}}, dev, ok(NewVariables(dev)), Options{Profile: true}))
		if got := opsOf(p); len(got) != 2 || got[0] != "_FusedBatchNormEx" {
			t.Errorf("got %v", got)
		}
		if got := p.Profile()[0].Op; got != "FusedBatchNorm+Relu" {
			t.Errorf("the profile calls it %s", got)
		}
		if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{-1, 2}, 1, 2)}); err != nil {
			t.Fatal(err)
		}
		if r, n := tensor.Values[float32](p.Value(0)), tensor.Values[float32](p.Value(1)); r[0] != 0 || r[1] != 2 || n[1] != -2 {
			t.Errorf("got %v and %v", r, n)
		}
	})
}

// TestShapesNeedNoOperand checks that an op that only needs a shape does not make its operand run.
func TestShapesNeedNoOperand(t *testing.T) {
	dev := device.NewHost()
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", batchType(tensor.Float32, 3))
	unfed := b.Placeholder("unfed", batchType(tensor.Float32, 7))
	deep := b.Op("Tanh", "deep", unfed.Type(), nil, unfed)
	n := b.Op("Cast", "n", fixedType(tensor.Float32), nil, b.Op("Size", "size", fixedType(tensor.Int32), nil, deep))
	shape := b.Op("Shape", "shape", fixedType(tensor.Int32, 2), nil, x)
	flat := b.Op("Reshape", "flat", batchType(tensor.Float32, 3), nil, x, shape)
	y := b.Op("Mul", "y", x.Type(), nil, flat, n)
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{}))
	if got := opsOf(p); !slices.Equal(got, []string{"Size", "Cast", "Mul"}) {
		t.Errorf("got %v", got)
	}
	if err := p.Run(bg, 2, []*tensor.Tensor{dense([]float32{1, 0, 0, 0, 0, 2}, 2, 3)}); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](p.Value(0)); got[0] != 14 || got[5] != 28 {
		t.Errorf("got %v", got)
	}
}
