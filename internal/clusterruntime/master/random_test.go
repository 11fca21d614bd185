package master

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"pgregory.net/rapid"
)

// randomGraph draws a graph of matrices. Its nodes are on random tasks.
type randomGraph struct {
	*graph.Builder
	t      *rapid.T
	values []graph.Output
	reads  []*graph.Node // of each variable
	vars   []graph.Output
	steps  []randomStep
}

// randomStep is the request of a step.
type randomStep struct {
	branch  bool
	fetches []string
	targets []string
}

const (
	randomSide      = 3
	randomVariables = 2
)

var randomType = graph.TypeOf(tensor.Float32, randomSide, randomSide)

func drawGraph(t *rapid.T) *randomGraph {
	g := &randomGraph{Builder: graph.NewBuilder(graph.New()), t: t}
	of := graph.Attrs{"T": tensor.Float32}
	g.values = []graph.Output{g.Placeholder("x", randomType)}
	branch := g.Placeholder("branch", graph.TypeOf(tensor.Bool))
	for i := range randomVariables {
		v := g.Variable(fmt.Sprint("v", i), randomType)
		g.anywhere(v)
		read := g.Op("ReadVariableOp", fmt.Sprint("read", i), randomType, graph.Attrs{"dtype": tensor.Float32}, v)
		first := g.Const(fmt.Sprint("first", i), filled(float32(i)-0.5))
		g.Node("AssignVariableOp", fmt.Sprint("init", i), nil, graph.Attrs{"dtype": tensor.Float32}, v, first)
		g.vars, g.reads, g.values = append(g.vars, v), append(g.reads, read.Node), append(g.values, read)
	}
	for i := range rapid.IntRange(1, 24).Draw(t, "nodes") {
		name := fmt.Sprint("n", i)
		switch kind := rapid.SampledFrom([]string{"AddV2", "Sub", "Mul", "Maximum", "MatMul", "MatMul", "Tanh", "Neg", "branch"}).Draw(t, "op"); kind {
		case "Tanh", "Neg":
			g.value(g.Op(kind, name, randomType, of, g.any()))
		case "branch": // one of two values; the other one is dead
			on := g.Node("Switch", name+"/switch", []graph.Type{randomType, randomType}, of, g.any(), branch)
			no := g.Op("Neg", name+"/no", randomType, of, on.Out(0))
			yes := g.Op("Tanh", name+"/yes", randomType, of, on.Out(1))
			merge := g.Node("Merge", name, []graph.Type{randomType, graph.TypeOf(tensor.Int32)}, graph.Attrs{"T": tensor.Float32, "N": int64(2)}, no, yes)
			g.anywhere(on.Out(0))
			g.anywhere(no)
			g.anywhere(yes)
			g.value(merge.Out(0))
		default:
			g.value(g.Op(kind, name, randomType, of, g.any(), g.any()))
		}
	}
	g.draw()
	return g
}

// draw draws the requests of steps. Each variable is updated after it was read.
func (g *randomGraph) draw() {
	for i, v := range g.vars {
		bounded := g.Op("Tanh", fmt.Sprint("bounded", i), randomType, graph.Attrs{"T": tensor.Float32}, g.any())
		update := g.Node("AssignAddVariableOp", fmt.Sprint("update", i), nil, graph.Attrs{"dtype": tensor.Float32}, v, bounded)
		update.Control = []*graph.Node{g.reads[i]}
		g.anywhere(bounded)
	}
	asks := rapid.SliceOfNDistinct(rapid.IntRange(0, len(g.values)-1), 1, 3, rapid.ID[int])
	for range rapid.IntRange(1, 3).Draw(g.t, "steps") {
		s := randomStep{branch: rapid.Bool().Draw(g.t, "branch")}
		for _, i := range asks.Draw(g.t, "fetches") {
			s.fetches = append(s.fetches, g.values[i].String())
		}
		for i := range g.vars {
			if rapid.Bool().Draw(g.t, "update") {
				s.targets = append(s.targets, fmt.Sprint("update", i))
			}
		}
		g.steps = append(g.steps, s)
	}
}

// anywhere puts a node on a random task.
func (g *randomGraph) anywhere(o graph.Output) {
	o.Node.Device = rapid.SampledFrom([]string{"", "/job:w/task:0", "/job:w/task:1", "/job:w/task:2"}).Draw(g.t, "device")
}

func (g *randomGraph) value(o graph.Output) {
	g.anywhere(o)
	g.values = append(g.values, o)
}

func (g *randomGraph) any() graph.Output {
	return g.values[rapid.IntRange(0, len(g.values)-1).Draw(g.t, "input")]
}

// def is the graph for that many tasks: with one, all nodes are on it.
func (g *randomGraph) def(tasks int) (*graph_go_proto.GraphDef, error) {
	def, err := graphdef.ToGraphDef(g.Graph)
	if tasks == 1 {
		for _, n := range def.GetNode() {
			n.Device = ""
		}
	}
	return def, errors.Join(err, g.Err())
}

func filled(v float32) *tensor.Tensor {
	t := tensor.New(tensor.Float32, randomSide, randomSide)
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = v + float32(i)/7
	}
	return t
}

// rounds is how often all steps run. From the third time on, numeric regions run as compiled programs.
const rounds = 4

// outcome runs all steps on that many tasks, and returns their fetches.
func (g *randomGraph) outcome(ctx context.Context, t *rapid.T, tasks int) (all []*tensor.Tensor) {
	def, err := g.def(tasks)
	if err != nil {
		t.Fatal(err)
	}
	m, session := openTasks(ctx, t, tasks, def)
	run := func(in *rpcs.RunStepRequest) {
		out, err := m.runStep(ctx, in)
		if err != nil {
			t.Fatalf("%d tasks: %v: %v", tasks, in.GetFetch(), err)
		}
		for _, fetched := range out.GetTensor() {
			v, err := graphdef.FromTensorProto(fetched.GetTensor())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
	}
	run(&rpcs.RunStepRequest{SessionHandle: session, Target: []string{"init0", "init1"}})
	for range rounds {
		for _, s := range g.steps {
			run(&rpcs.RunStepRequest{SessionHandle: session, Feed: s.feeds(t), Fetch: s.fetches, Target: s.targets})
		}
	}
	if _, err := m.closeSession(ctx, &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil {
		t.Fatal(err)
	}
	return all
}

func (s randomStep) feeds(t *rapid.T) (all []*for_core_protos_go_proto.NamedTensorProto) {
	branch := tensor.New(tensor.Bool)
	if s.branch {
		branch.Bytes[0] = 1
	}
	for name, v := range map[string]*tensor.Tensor{"x:0": filled(-0.3), "branch:0": branch} {
		p, err := graphdef.ToTensorProto(v, true)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &for_core_protos_go_proto.NamedTensorProto{Name: name, Tensor: p})
	}
	return all
}

// TestRandomGraphs: graphs whose nodes are on three tasks give the same results as on one, step by step, before and after their
// numeric regions are compiled.
func TestRandomGraphs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := drawGraph(rt)
		one, three := g.outcome(t.Context(), rt, 1), g.outcome(t.Context(), rt, 3)
		for i := range one {
			for k := range one[i].Len() {
				if a, b := one[i].Float(k), three[i].Float(k); !testkit.Near(b, a, 1e-4*max(1, math.Abs(a))) {
					rt.Fatalf("fetch %d: element %d is %v on one task and %v on three", i, k, a, b)
				}
			}
		}
	})
}
