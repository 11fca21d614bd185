package trace

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// The stand-in batch sizes at which functions are built: large primes, so that a
// dimension that depends on the batch is not mistaken for a constant.
const (
	FirstBatch  = 1009
	SecondBatch = 1013
)

// Tracing is one build, at one batch size.
type Tracing struct {
	Graph *graph.Graph
	// Leaves are the placeholders of the Builder's inputs, and its variables' values, by node.
	Leaves map[*G.Node]graph.Output
	// Step is the value of the global step.
	Step graph.Output
	// Made, if not nil, is called by Lower with the nodes that an expression became.
	Made func(from *G.Node, nodes []*graph.Node)

	builder *graph.Builder
	nodes   []*G.Node
	places  []place
	moved   []*graph.Output // other outputs that Unify moves
	blocks  blocks
}

// place is where the value of a root goes.
type place struct {
	what  string
	dense *graph.Output // of a dense value,
	value *lower.Value  // or of one that may be sparse
}

// New begins the graph for a Builder, with its inputs, its variables and the global step.
func New(b *models.Builder, op *optimizers.TrainOp) (*Tracing, error) {
	t := &Tracing{Graph: graph.New(), Leaves: map[*G.Node]graph.Output{}}
	t.builder = graph.NewBuilder(t.Graph)
	gb := t.builder
	for _, in := range b.Inputs() {
		t.Leaves[in.Node] = gb.Placeholder(in.Name, graph.Type{DType: in.DType, Shape: graph.ShapeOf(in.Node.Shape()...)})
	}
	for _, v := range b.Variables() {
		typ := graph.TypeOf(v.DType, v.Shape...)
		value := gb.Read(gb.Variable(v.Name, typ), typ)
		if op != nil && op.Scale != nil && op.Scale.Scale == v && value.Valid() {
			value.Node.Attrs[graph.MayOverflow] = true
		}
		t.Leaves[v.Node] = value
	}
	stepType := graph.Type{DType: tensor.Int64}
	t.Step = gb.Read(gb.Variable(distribute.GlobalStep, stepType), stepType)
	t.moved = append(t.moved, &t.Step)
	return t, gb.Err()
}

// Add asks for the value of a node, which must be dense.
func (t *Tracing) Add(n *G.Node, what string, to *graph.Output) {
	t.nodes = append(t.nodes, n)
	t.places = append(t.places, place{what: what, dense: to})
}

// AddGradient asks for the value of a node that may be sparse.
func (t *Tracing) AddGradient(n *G.Node, what string, to *lower.Value) {
	t.nodes = append(t.nodes, n)
	t.places = append(t.places, place{what: what, value: to})
}

// Move makes Unify move an output that is no root's.
func (t *Tracing) Move(o *graph.Output) { t.moved = append(t.moved, o) }

// Lower translates all roots.
func (t *Tracing) Lower(b *models.Builder) error {
	t.blocks = blocks{ops: b.Recomputed(), nodes: map[string]int{}}
	made := func(from *G.Node, nodes []*graph.Node) {
		t.blocks.add(from.Name(), nodes)
		if t.Made != nil {
			t.Made(from, nodes)
		}
	}
	values, err := lower.Expressions(t.builder, lower.Options{Seed: b.Seed(), GlobalStep: t.Step, Made: made}, t.nodes, t.Leaves)
	if err != nil {
		return err
	}
	for i, v := range values {
		switch at := t.places[i]; {
		case at.value != nil:
			*at.value = v
		case v.Sparse():
			return fmt.Errorf("%s is a sparse gradient: only an optimizer can take it", at.what)
		default:
			*at.dense = v.Output
		}
	}
	return nil
}

// Unify makes one graph with a symbolic batch from tracings at FirstBatch and SecondBatch,
// and sets the outputs of the second tracing to outputs of this graph. Its gradients recompute blocks of Recompute.
func Unify(first, second *Tracing) error {
	u, err := graph.Unify(first.Graph, FirstBatch, second.Graph, SecondBatch)
	if err != nil {
		return err
	}
	if u, err = second.blocks.recompute(u); err != nil {
		return err
	}
	move := func(o *graph.Output) {
		if o.Valid() {
			o.Node = u.Node(o.Node.Name)
		}
	}
	for _, at := range second.places {
		if at.dense != nil {
			move(at.dense)
			continue
		}
		move(&at.value.Output)
		for i := range at.value.Slices {
			move(&at.value.Slices[i].Rows)
			move(&at.value.Slices[i].Indices)
		}
	}
	for _, o := range second.moved {
		move(o)
	}
	second.Graph = u
	return nil
}

// Used returns all outputs that are used, including roots.
func (t *Tracing) Used() map[graph.Output]bool {
	used := map[graph.Output]bool{}
	for _, n := range t.Graph.Nodes() {
		for _, in := range n.Inputs {
			used[in] = true
		}
	}
	for _, at := range t.places {
		if at.dense != nil {
			used[*at.dense] = true
		}
	}
	return used
}
