package main

import (
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// training is a case as a graph of the engine: its train step, or its logits in evaluation.
type training struct {
	k        *benchCase
	graph    *graph.Graph
	spec     engine.Spec
	initials []initial // of the weights, in the order of their creation
	slots    []update.Slot
}

// built is a model before it is lowered.
type built struct {
	b       *models.Builder
	in      inputs
	root    *G.Node // loss, or logits
	trainOp *optimizers.TrainOp
}

func (k *benchCase) model(mode models.Mode) (m built, err error) {
	net := networks[k.Net]
	m.b, err = models.Build(models.Options{Mode: mode, Seed: 4, Batch: k.Batch}, func(b *models.Builder) error {
		m.in.x = b.Input("x", tensor.Float32, append([]int{k.Batch}, k.Dims...)...)
		if k.IDs > 0 {
			m.in.ids = b.Input("ids", tensor.Int64, k.Batch, k.IDs)
		}
		if mode == models.Train {
			m.in.labels = b.Input("labels", tensor.Int64, k.Batch)
		}
		m.root = net(b, k, m.in)
		if mode != models.Train {
			return b.Err()
		}
		o, err := optimizers.New(k.Rule, map[string]any{"learning_rate": k.Rate})
		if err != nil {
			return err
		}
		m.root = loss(b, k, m.in, m.root)
		m.trainOp = o.Minimize(b, m.root)
		return b.Err()
	})
	if err != nil {
		return m, fmt.Errorf("%s: %w", k.Name, err)
	}
	return m, nil
}

// newTraining builds the train step. Resident data are variables, "data/x" and so on; otherwise the data are feeds: x,
// (ids,) labels.
func newTraining(k *benchCase, resident bool) (*training, error) {
	m, err := k.model(models.Train)
	if err != nil {
		return nil, err
	}
	t := &training{k: k, graph: graph.New(), slots: update.Slots(m.trainOp)}
	for i, v := range m.b.Variables() {
		t.initials = append(t.initials, begin(v.Name, v.Shape, uint32(100+i)))
	}
	gb := graph.NewBuilder(t.graph)
	leaves := t.leaves(gb, m, resident)
	step := gb.Read(gb.Variable(globalStep, stepType), stepType)
	roots := []*G.Node{m.root}
	for _, g := range m.trainOp.Groups {
		roots = append(roots, g.Gradients...)
	}
	gradients := len(roots) - 1
	for _, u := range m.b.Updates() {
		roots = append(roots, u.Value)
	}
	values, err := lower.Expressions(gb, lower.Options{Seed: 4, GlobalStep: step}, roots, leaves)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	applied, err := update.Emit(m.trainOp, gb, update.Env{GlobalStep: step, Gradients: values[1 : 1+gradients]})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	t.spec.Targets = applied.Targets
	for i, u := range m.b.Updates() {
		v := values[1+gradients+i].Output
		t.spec.Targets = append(t.spec.Targets, gb.Node("AssignVariableOp", u.Variable.Name+"/Assign", nil,
			graph.Attrs{"dtype": v.Type().DType}, gb.Variable(u.Variable.Name, graph.TypeOf(u.Variable.DType, u.Variable.Shape...)), v))
	}
	t.spec.Targets = append(t.spec.Targets, gb.Node("AssignAddVariableOp", globalStep+"/AssignAdd", nil,
		graph.Attrs{"dtype": stepType.DType}, gb.Variable(globalStep, stepType), gb.Scalar(globalStep+"/one", tensor.Int64, 1)))
	t.spec.Fetches = []graph.Output{values[0].Output}
	return t, gb.Err()
}

const globalStep = "global_step"

var stepType = graph.Type{DType: tensor.Int64}

// leaves maps the model's inputs and variables to the graph.
func (t *training) leaves(gb *graph.Builder, m built, resident bool) map[*G.Node]graph.Output {
	leaves := map[*G.Node]graph.Output{}
	for _, in := range m.b.Inputs() {
		typ := graph.Type{DType: in.DType, Shape: graph.ShapeOf(in.Node.Shape()...)}
		if resident {
			leaves[in.Node] = gb.Read(gb.Variable("data/"+in.Name, typ), typ)
			continue
		}
		leaves[in.Node] = gb.Placeholder(in.Name, typ)
		t.spec.Feeds = append(t.spec.Feeds, leaves[in.Node])
	}
	for _, v := range m.b.Variables() {
		leaves[v.Node] = gb.Read(gb.Variable(v.Name, graph.TypeOf(v.DType, v.Shape...)), graph.TypeOf(v.DType, v.Shape...))
	}
	return leaves
}

// newLogits builds a graph from x, and ids, to the logits in evaluation.
func newLogits(k *benchCase) (*training, error) {
	m, err := k.model(models.Eval)
	if err != nil {
		return nil, err
	}
	t := &training{k: k, graph: graph.New()}
	gb := graph.NewBuilder(t.graph)
	values, err := lower.Expressions(gb, lower.Options{}, []*G.Node{m.root}, t.leaves(gb, m, false))
	if err := errors.Join(err, gb.Err()); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	t.spec.Fetches = []graph.Output{values[0].Output}
	return t, nil
}

// variables puts the initial values on a device, and the data if they are resident.
func (t *training) variables(dev device.Device, resident bool) (*engine.Variables, error) {
	vars, err := engine.NewVariables(dev)
	if err != nil {
		return nil, err
	}
	for _, v := range t.initials {
		if err := vars.Create(v.Name, v.tensor()); err != nil {
			return nil, err
		}
	}
	for _, s := range t.slots {
		x := tensor.New(s.Type.DType, s.Type.Shape.At(t.k.Batch)...)
		if err := s.Init.Init(x, 0); err != nil {
			return nil, err
		}
		if err := vars.Create(s.Name, x); err != nil {
			return nil, err
		}
	}
	if err := vars.Create(globalStep, tensor.Scalar(int64(0))); err != nil || !resident {
		return vars, err
	}
	x, ids, labels := t.k.data()
	for name, v := range map[string]*tensor.Tensor{"x": x, "ids": ids, "labels": labels} {
		if v == nil {
			continue
		}
		if err := vars.Create("data/"+name, v); err != nil {
			return nil, err
		}
	}
	return vars, nil
}

// cost is the number of operations and bytes of a step, as the engine counts them.
func (t *training) cost() (flops, bytes int64) {
	for _, n := range t.graph.Nodes() {
		f, b := engine.Cost(n, t.k.Batch)
		flops, bytes = flops+f, bytes+b
	}
	return flops, bytes
}
