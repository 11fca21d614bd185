package dataflow

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// TestArguments: _Arg and _Retval carry any values of a caller. A dead result stays empty, and an argument that the step does not have is
// an error.
func TestArguments(t *testing.T) {
	g := looptest.New()
	numbered := func(op string, i int64, outputs int, in ...graph.Output) *graph.Node {
		return g.Node(op, graph.Attrs{"T": tensor.Float32, "index": i}, outputs, in...)
	}
	a, b := numbered("_Arg", 0, 1).Out(0), numbered("_Arg", 1, 1).Out(0)
	numbered("_Retval", 1, 0, a)
	numbered("_Retval", 0, 0, g.Op("Neg", b))
	off := g.Node("Const", graph.Attrs{"value": tensor.Scalar(false), "dtype": tensor.Bool}, 1).Out(0)
	numbered("_Retval", 2, 0, g.Node("Switch", graph.Attrs{"T": tensor.Float32}, 2, b, off).Out(1))
	p, err := Compile(g.Graph, &eager.Generators{})
	if err != nil {
		t.Fatal(err)
	}
	args := []eager.Value{{Resource: "a variable"}, {T: tensor.Scalar(float32(2))}}
	step := Step{Rendezvous: box{rendezvous.New()}, Args: args, Results: make([]eager.Value, 3)}
	if err := p.Run(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if r := step.Results; r[1].Resource != "a variable" || r[0].T.Float(0) != -2 || r[2] != (eager.Value{}) {
		t.Errorf("got %v", r)
	}
	for what, s := range map[string]Step{"there is no argument 1": {Args: args[:1], Results: step.Results}, "there is no result 1": {Args: args, Results: step.Results[:1]}} {
		if err := p.Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), what) && !strings.Contains(err.Error(), "there is no result") {
			t.Errorf("expected %q, got %v", what, err)
		}
	}
}
