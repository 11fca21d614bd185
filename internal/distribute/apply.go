package distribute

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/internal/training/update"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// application is the program that updates one copy of the variables, including the
// global step, by reduced gradients.
type application struct {
	program *engine.Program
	step    int // fetch of the global step before the update
	rate    int // fetch of the learning rate, -1 for none
}

// target is where variables are updated.
type target struct {
	dev  device.Device
	vars *engine.Variables
	hard bool // everything must run on that device

	scaled bool // a factor for the learning rates is fed
}

// compileApplication compiles an application. Its feeds are the dense results of the
// layout without the loss, then rows and ids of each sparse gradient, then the factor of
// the rates, if there is one.
func compileApplication(p TrainProgram, l *layout, to target) (*application, error) {
	b := graph.NewBuilder(graph.New())
	var dense, feeds []graph.Output
	for i, t := range l.types()[:len(l.dense)-1] {
		dense = append(dense, b.Placeholder(fmt.Sprintf("dense_%d", i), t))
	}
	feeds = append(feeds, dense...)
	for i, s := range l.sparse {
		feeds = append(feeds, b.Placeholder(fmt.Sprintf("rows_%d", i), l.fetches[s.rows].Type()),
			b.Placeholder(fmt.Sprintf("ids_%d", i), l.fetches[s.ids].Type()))
	}
	gathered := feeds[len(dense):]
	var factor graph.Output
	if to.scaled {
		factor = b.Placeholder("learning_rate_factor", graph.TypeOf(tensor.Float64))
		feeds = append(feeds, factor)
	}
	grads := make([]lower.Value, len(p.Gradients))
	for i, places := range l.grads {
		grads[i] = gradientOf(b, places, p.Gradients[i].Dense, dense, gathered)
	}
	stepType := graph.Type{DType: tensor.Int64}
	step := b.Read(b.Variable(GlobalStep, stepType), stepType)
	updates := slices.Clone(p.Updates)
	for i := range updates {
		updates[i].Value = dense[l.updates[i]]
	}
	applied, err := update.Emit(p.Train, b, update.Env{GlobalStep: step, Gradients: grads, Changes: values(updates), RateFactor: factor})
	if err != nil {
		return nil, err
	}
	targets := append(applied.Targets, finish(b, updates, applied.Finite)...)
	if err := b.Err(); err != nil {
		return nil, err
	}
	a := &application{step: 0, rate: -1}
	fetches := []graph.Output{step}
	if applied.LearningRate.Valid() {
		a.rate = 1
		fetches = append(fetches, applied.LearningRate)
	}
	a.program, err = engine.Compile(b.Graph, engine.Spec{Feeds: feeds, Fetches: fetches, Targets: targets}, to.dev, to.vars, engine.Options{HardPlacement: to.hard})
	return a, err
}

// gradientOf assembles a gradient from feeds, dense and sparse.
func gradientOf(b *graph.Builder, places []place, table graph.Shape, dense, sparse []graph.Output) lower.Value {
	if at := places[0]; len(places) == 1 && !at.sparse && at.ids == nil {
		return lower.Value{Output: dense[at.index]}
	}
	var all []lower.Slices
	for _, at := range places {
		s := lower.Slices{ByIndex: at.byIndex}
		switch {
		case at.sparse:
			s.Rows, s.Indices = sparse[2*at.index], sparse[2*at.index+1]
		case at.ids != nil:
			s.Rows, s.Indices = dense[at.index], b.Const("ids", at.ids)
		default:
			s.Rows = dense[at.index]
		}
		all = append(all, s)
	}
	return lower.SparseValue(table, all...)
}

// Emit adds to the program's graph what a step of a single task changes: the optimizer's
// update, the assignments of Updates, and the global step. If the optimizer is a step
// function, the error wraps optimizers.ErrStepFunction.
func (p TrainProgram) Emit() (update.Applied, error) {
	b := graph.NewBuilder(p.Graph)
	applied, err := update.Emit(p.Train, b, update.Env{GlobalStep: p.GlobalStep, Gradients: p.Gradients, Changes: values(p.Updates)})
	if err != nil {
		return applied, err
	}
	applied.Targets = append(applied.Targets, finish(b, p.Updates, applied.Finite)...)
	return applied, b.Err()
}

// values returns the values that updates assign.
func values(updates []Update) []graph.Output {
	var out []graph.Output
	for _, u := range updates {
		out = append(out, u.Value)
	}
	return out
}

// finish adds what a step changes in addition to the optimizer's update: the global step and, if finite holds, the updates.
func finish(b *graph.Builder, updates []Update, finite graph.Output) []*graph.Node {
	var targets []*graph.Node
	for _, u := range updates {
		if t := u.Value.Type(); finite.Valid() {
			u.Value = rule.Choose(b, finite, u.Variable+"/", t, u.Value, b.Read(b.Variable(u.Variable, t), t))
		}
		targets = append(targets, assign(b, u.Variable, u.Value))
	}
	return append(targets, advance(b))
}

// assign sets a variable to a new value.
func assign(b *graph.Builder, name string, value graph.Output) *graph.Node {
	t := value.Type()
	return b.Node("AssignVariableOp", name+"/Assign", nil, graph.Attrs{"dtype": t.DType}, b.Variable(name, t), value)
}

// advance adds one to the global step.
func advance(b *graph.Builder) *graph.Node {
	t := graph.Type{DType: tensor.Int64}
	return b.Node("AssignAddVariableOp", GlobalStep+"/AssignAdd", nil,
		graph.Attrs{"dtype": t.DType}, b.Variable(GlobalStep, t), b.Scalar(GlobalStep+"/one", tensor.Int64, 1))
}

// run applies gradients of that many rows, and returns the new global step.
func (a *application) run(ctx context.Context, rows int, feeds []*tensor.Tensor) (int64, error) {
	return a.done(a.program.Run(ctx, max(rows, 1), feeds))
}

// runOn is run with feeds that are on the program's device if at says so.
func (a *application) runOn(ctx context.Context, rows int, feeds []*tensor.Tensor, at []engine.Resident) (int64, error) {
	return a.done(a.program.RunOn(ctx, max(rows, 1), feeds, at))
}

func (a *application) done(err error) (int64, error) {
	if err != nil {
		return 0, fmt.Errorf("update: %w", err)
	}
	return tensor.Values[int64](a.program.Value(a.step))[0] + 1, nil
}

// learningRate returns the rate of the last run.
func (a *application) learningRate() float64 {
	if a.rate < 0 || a.program.Value(a.rate) == nil {
		return 0
	}
	return a.program.Value(a.rate).Float(0)
}
