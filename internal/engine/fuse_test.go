package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/graph"
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
		bias := operand{typ: graph.Type{DType: graph.Float32, Shape: graph.Shape{Dims: dims[len(dims)-1:]}}, gen: normalGen}
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

// TestFusion sees which ops of a training step are merged, and that fetching a value in between keeps it.
func TestFusion(t *testing.T) {
	dev := device.NewHost()
	m := newMLP(graph.Float32, 2, 3, 2, 0.1)
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
