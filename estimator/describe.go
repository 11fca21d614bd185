package estimator

import (
	"context"
	"errors"
	"github.com/goestimator/goestimator/internal/training/update"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/models"
)

// Description is the program of one mode, as it is compiled.
type Description struct {
	Mode        models.Mode
	Ops         map[string]int // number of nodes of each op, in training including gradients and the optimizer
	Inputs      []DescribedInput
	Variables   []hooks.VariableInfo // the model's variables, in the order of their creation
	Slots       []hooks.VariableInfo // the optimizer's, in training
	Predictions []string             // names, sorted
	Metrics     []string             // names, sorted, in evaluation
	Summaries   []string             // tags

	graph *graph.Graph
}

// GraphDef returns the graph as a GraphDef in protobuf's text format.
func (d *Description) GraphDef() ([]byte, error) { return graphdef.MarshalText(d.graph) }

// DescribedInput is a column of the data and the placeholder that it is fed to.
type DescribedInput struct {
	Column inputs.Column
	Tensor string
}

// Describe builds and compiles the program of a mode for the data of an input_fn,
// without reading that data, and returns its description. It reads and writes no
// checkpoint.
func (e *Estimator) Describe(ctx context.Context, mode models.Mode, input InputFn) (d *Description, err error) {
	ds, err := e.openInput(ctx, input, mode)
	if err != nil {
		return nil, err
	}
	s, err := e.newSession(mode, ds.Schema(), e.localStrategy())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if mode != models.Predict {
		s.fetch("loss", s.program.loss)
	}
	for _, p := range s.program.predictions {
		s.fetch(p.output.String(), p.output)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return s.program.describe(), nil
}

func (p *program) describe() *Description {
	d := &Description{Mode: p.mode, graph: p.graph, Ops: map[string]int{}, Variables: p.variableInfos()}
	for _, n := range p.graph.Nodes() {
		d.Ops[n.Op]++
	}
	for _, f := range p.feeds {
		d.Inputs = append(d.Inputs, DescribedInput{Column: f.column, Tensor: f.output.String()})
	}
	if p.mode == models.Train {
		for _, s := range update.Slots(p.spec.TrainOp) {
			d.Slots = append(d.Slots, hooks.VariableInfo{Name: s.Name, DType: s.Type.DType, Shape: s.Type.Shape.At(0)})
		}
	}
	for _, n := range p.predictions {
		d.Predictions = append(d.Predictions, n.name)
	}
	for _, m := range p.metrics {
		d.Metrics = append(d.Metrics, m.name)
	}
	for _, s := range p.summaries {
		d.Summaries = append(d.Summaries, s.Tag)
	}
	return d
}

// variableInfos describe the model's variables, without the optimizer's slots.
func (p *program) variableInfos() []hooks.VariableInfo {
	var out []hooks.VariableInfo
	for _, v := range p.variables {
		out = append(out, hooks.VariableInfo{Name: v.Name, DType: v.DType, Shape: v.Shape, Trainable: v.Trainable})
	}
	return out
}
