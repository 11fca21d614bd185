package update

import (
	"context"
	"github.com/goestimator/goestimator/models/optimizers"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// trial runs a TrainOp whose gradients are fed.
type trial struct {
	t    *testing.T
	op   *optimizers.TrainOp
	vars *engine.Variables
	prog *engine.Program
	step int64
}

// start prepares variables and slots on the host. A positive entry of rows
// makes that variable's gradient sparse, with that many rows.
func start(t *testing.T, op *optimizers.TrainOp, initial map[string]*tensor.Tensor, rows map[string]int) *trial {
	t.Helper()
	return startOn(t, device.NewHost(), op, initial, rows)
}

// startOn is start on a device, which it closes at the end.
func startOn(t *testing.T, dev device.Device, op *optimizers.TrainOp, initial map[string]*tensor.Tensor, rows map[string]int) *trial {
	t.Helper()
	tr := &trial{t: t, op: op}
	var err error
	if tr.vars, err = engine.NewVariables(dev); err != nil {
		t.Fatal(err)
	}
	g := graph.New()
	b := graph.NewBuilder(g)
	step := b.Placeholder("step", graph.Type{DType: tensor.Int64})
	spec := engine.Spec{Feeds: []graph.Output{step}}
	env := Env{GlobalStep: step}
	for _, group := range op.Groups {
		for _, v := range group.Variables {
			tr.create(v.Name, initial[v.Name])
			grad := lower.Value{}
			if n := rows[v.Name]; n > 0 {
				shape := append([]int{n}, v.Shape[1:]...)
				rows := b.Placeholder(v.Name+"_rows", graph.Type{DType: v.DType, Shape: graph.ShapeOf(shape...)})
				ids := b.Placeholder(v.Name+"_indices", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(n)})
				grad = lower.SparseValue(graph.TypeOf(v.DType, v.Shape...).Shape, lower.Slices{Rows: rows, Indices: ids})
				spec.Feeds = append(spec.Feeds, rows, ids)
			} else {
				grad.Output = b.Placeholder(v.Name+"_grad", graph.TypeOf(v.DType, v.Shape...))
				spec.Feeds = append(spec.Feeds, grad.Output)
			}
			env.Gradients = append(env.Gradients, grad)
		}
	}
	slots := Slots(op)
	if op.Scale != nil {
		for _, v := range []*models.Variable{op.Scale.Scale, op.Scale.Good} {
			slots = append(slots, Slot{Name: v.Name, Type: graph.TypeOf(v.DType, v.Shape...), Init: v.Init})
		}
	}
	for _, s := range slots {
		x := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		if err := s.Init.Init(x, 0); err != nil {
			t.Fatal(err)
		}
		tr.create(s.Name, x)
	}
	applied, err := Emit(op, b, env)
	if err != nil {
		t.Fatal(err)
	}
	spec.Targets = applied.Targets
	spec.Fetches = []graph.Output{applied.LearningRate}
	if tr.prog, err = engine.Compile(g, spec, dev, tr.vars, engine.Options{HardPlacement: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	return tr
}

// close frees the trial's memory on the device. A test with many trials closes each when it is done; others are closed when the test ends.
func (tr *trial) close() {
	if tr.prog != nil {
		tr.prog.Close()
		tr.vars.Close()
		tr.prog, tr.vars = nil, nil
	}
}

func (tr *trial) create(name string, x *tensor.Tensor) {
	tr.t.Helper()
	if err := tr.vars.Create(name, x.Clone()); err != nil {
		tr.t.Fatal(err)
	}
}

// run feeds the gradients of one step, sparse ones as rows and indices.
func (tr *trial) run(grads ...*tensor.Tensor) {
	tr.t.Helper()
	feeds := append([]*tensor.Tensor{tensor.Scalar(tr.step)}, grads...)
	if err := tr.prog.Run(context.Background(), 1, feeds); err != nil {
		tr.t.Fatal(err)
	}
	tr.step++
}

// get returns the elements of a variable.
func (tr *trial) get(name string) []float64 {
	tr.t.Helper()
	x, err := tr.vars.Get(name)
	if err != nil {
		tr.t.Fatal(err)
	}
	out := make([]float64, x.Len())
	for i := range out {
		out[i] = x.Float(i)
	}
	return out
}

func vector(x ...float64) *tensor.Tensor { return matrix(x, len(x)) }

func matrix(x []float64, shape ...int) *tensor.Tensor {
	t, err := tensor.FromSlice(x, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func variable(name string, shape ...int) *models.Variable {
	return &models.Variable{Name: name, DType: tensor.Float64, Shape: shape, Trainable: true}
}

// trainOp returns a TrainOp with one group: the given variables with an optimizer.
func trainOp(o *optimizers.Optimizer, vars ...*models.Variable) *optimizers.TrainOp {
	return &optimizers.TrainOp{Transforms: o.Transforms, AccumulateSteps: o.AccumulateSteps, SlotNames: o.SlotNames,
		Groups: []optimizers.Group{{Variables: vars, Rule: o.Rule, LearningRate: o.LearningRate, WeightDecay: o.WeightDecay, NoDecay: o.NoDecay}}}
}

func mustNew(t *testing.T, name string, p map[string]any) *optimizers.Optimizer {
	t.Helper()
	o, err := optimizers.New(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// near fails unless got and want agree to a relative error.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s[%d]: got %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}
