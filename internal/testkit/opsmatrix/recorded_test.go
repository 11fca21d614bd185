package opsmatrix_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/testkit/edgecases"
	"github.com/goestimator/goestimator/tensor"
)

const top = "../../../"

// recorded has the ops with recorded answers of TensorFlow.
type recorded struct {
	tensorflow map[string]bool // values at edge cases
	gradient   map[string]bool // and gradients through models/ops
	float64    map[string]bool // both, or only values, in float64
}

func (r *recorded) columns() []column {
	in := func(m map[string]bool) func(op string) bool { return func(op string) bool { return m[op] } }
	return []column{
		{name: "gradient", means: "`models/ops` differentiates it: compared with finite differences and TensorFlow's gradients", has: in(r.gradient)},
		{name: "float64", means: "tested in float64 too", has: in(r.float64)},
		{name: "TensorFlow", means: "compared with TensorFlow's recorded results at edges: zeros of both signs, ties, infinities, NaN, denormals, large values. Gradient and fused ops are compared by the ops that they belong to, updates by trainings beside TensorFlow (`interop`)", has: in(r.tensorflow)},
	}
}

func readRecorded(t *testing.T) *recorded {
	r := &recorded{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	r.eager(t, top+"internal/imported/eager/testdata/golden.json.gz")
	for _, file := range []string{"models/ops/", "internal/runtime/engine/"} {
		graphs := map[int]*graph.Graph{}
		for _, c := range edgecases.Read(t, top+file+edgecases.File) {
			if graphs[c.Which] == nil && c.Which > 0 {
				g, err := graphdef.Unmarshal(c.Graph)
				if err != nil {
					t.Fatal(err)
				}
				graphs[c.Which] = g
			}
			if c.Error == "" && c.Which > 0 {
				r.edgeCases(graphs[c.Which], c)
			}
		}
	}
	return r
}

// eager records the ops of single nodes.
func (r *recorded) eager(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Op     string
		Inputs []struct{ DType tensor.DType }
	}
	if err := json.NewDecoder(z).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		r.tensorflow[c.Op] = true
		for _, in := range c.Inputs {
			r.float64[c.Op] = r.float64[c.Op] || in.DType == tensor.Float64
		}
	}
}

// edgeCases records the ops that depend on feeds; for cases with gradients, the ops whose operands are differentiated.
func (r *recorded) edgeCases(g *graph.Graph, c edgecases.Case) {
	fed, differentiated := map[string]bool{}, map[string]bool{}
	wide := false
	for _, f := range c.Feeds {
		fed[f.Name], wide = true, wide || f.DType == tensor.Float64
	}
	for _, name := range c.WRT {
		differentiated[name] = true
	}
	sorted, err := graph.Sort(g)
	if err != nil {
		return
	}
	for _, n := range sorted {
		for _, in := range n.Inputs {
			if fed[in.Node.Name] {
				fed[n.Name] = true
				r.tensorflow[n.Op] = true
				r.float64[n.Op] = r.float64[n.Op] || wide
			}
			if differentiated[in.Node.Name] && len(n.Outputs) > 0 && n.Outputs[0].DType.Float() && n.Op != ops.StopGradient.Name {
				differentiated[n.Name] = true
				r.gradient[n.Op] = true
			}
		}
	}
}
