package ops_test

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
)

// form is a node as the IR describes it.
type form struct {
	Name, Op string
	Inputs   []string
	Attrs    graph.Attrs
	Outputs  []graph.Type
}

func forms(g *graph.Graph) []form {
	var out []form
	for _, n := range g.Nodes() {
		f := form{n.Name, n.Op, nil, graph.Attrs{}, n.Outputs}
		for _, in := range n.Inputs {
			f.Inputs = append(f.Inputs, in.String())
		}
		for k, v := range n.Attrs {
			// Reading adds a remark on how a tensor was encoded.
			if len(k) < 1 || k[0] != '_' {
				f.Attrs[k] = v
			}
		}
		out = append(out, f)
	}
	return out
}

// TestGraphDefRoundTrip writes every case, gradients included, as a GraphDef
// and reads it back.
func TestGraphDefRoundTrip(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name(), func(t *testing.T) {
			g := c.program(t, tensor.Float32).Graph
			data, err := graphdef.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			back, err := graphdef.Unmarshal(data)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(forms(g), forms(back)); d != "" {
				t.Error(d)
			}
			again, err := graphdef.Marshal(back)
			if err != nil || !bytes.Equal(data, again) {
				t.Errorf("the second GraphDef differs from the first (%v)", err)
			}
		})
	}
}
