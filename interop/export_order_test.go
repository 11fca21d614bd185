package interop_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
)

// TestTrainOpOrder: in each exported training graph, control edges order every reader of a variable that the step
// changes before or after each change. TensorFlow runs everything else in any
// order.
func TestTrainOpOrder(t *testing.T) {
	eachSupervised(t, t.TempDir(), func(m supervisedModel) {
		name := filepath.Base(m.dir)
		saved, err := savedmodel.Read(m.export(t), savedmodel.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := saved.MetaGraph(savedmodel.TagTrain)
		if err != nil {
			t.Fatal(err)
		}
		roots := []*graph.Node{g.Graph.Node("train_op")}
		for _, o := range g.Proto.GetSignatureDef()["train"].GetOutputs() {
			at, _, _ := strings.Cut(o.GetName(), ":")
			roots = append(roots, g.Graph.Node(at))
		}
		pairs, wrong := unordered(g.Graph, roots)
		if pairs == 0 {
			t.Errorf("%s: the step changes no variable that anything takes", name)
		}
		for _, p := range wrong {
			t.Errorf("%s: %s (%s) and %s (%s) have no order", name, p[0].Name, p[0].Op, p[1].Name, p[1].Op)
		}
	})
}

// unordered counts the pairs of a change to a variable and another use of it, and
// returns the pairs that have no order.
func unordered(g *graph.Graph, roots []*graph.Node) (pairs int, wrong [][2]*graph.Node) {
	needed := graph.Reachable(roots...)
	takers := map[*graph.Node][]*graph.Node{}
	before := map[*graph.Node]map[*graph.Node]bool{}
	for _, n := range g.Nodes() {
		for _, in := range n.Inputs {
			if needed[n] && in.Node.Op == "VarHandleOp" {
				takers[in.Node], before[n] = append(takers[in.Node], n), graph.Reachable(n)
			}
		}
	}
	for _, list := range takers {
		for i, x := range list {
			for _, y := range list[i+1:] {
				if len(x.Outputs) > 0 && len(y.Outputs) > 0 {
					continue // both read
				}
				pairs++
				if !before[x][y] && !before[y][x] {
					wrong = append(wrong, [2]*graph.Node{x, y})
				}
			}
		}
	}
	return pairs, wrong
}
