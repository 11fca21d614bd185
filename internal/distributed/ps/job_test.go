package ps

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/training/update"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// job is a model with a matrix, a table and a scalar that are trained, and two variables that
// are not.
type job struct {
	variables []*models.Variable
	train     *optimizers.TrainOp
	first     map[string]*tensor.Tensor
}

func newJob(tb testing.TB, name string, parameters map[string]any) *job {
	tb.Helper()
	o, err := optimizers.New(name, parameters)
	if err != nil {
		tb.Fatal(err)
	}
	j := &job{first: map[string]*tensor.Tensor{}}
	add := func(name string, d tensor.DType, shape ...int) *models.Variable {
		v := &models.Variable{Name: name, DType: d, Shape: shape}
		j.variables = append(j.variables, v)
		t := tensor.New(d, shape...)
		r := rand.New(rand.NewPCG(1, uint64(len(j.variables))))
		for i := range t.Len() {
			putFloat(d, t.Bytes[i*d.Size():], r.NormFloat64())
		}
		j.first[name] = t
		return v
	}
	trained := []*models.Variable{add("w", tensor.Float32, 7, 3), add("table", tensor.Float32, 11, 2), add("b", tensor.Float32)}
	add("mean", tensor.Float32, 4)
	add("count", tensor.Int64)
	j.train = &optimizers.TrainOp{Transforms: o.Transforms, AccumulateSteps: o.AccumulateSteps, SlotNames: o.SlotNames,
		Groups: []optimizers.Group{{Variables: trained, Rule: o.Rule, LearningRate: o.LearningRate, WeightDecay: o.WeightDecay, NoDecay: o.NoDecay}}}
	return j
}

// clipped reports whether gradients are clipped: then the table's have three lookups.
func (j *job) clipped() bool { return len(j.train.Transforms) > 0 }

// gradients returns the gradients of a step: dense, sparse with a repeated row, dense; and, if they are clipped, two more lookups of the table:
// one of rows that stay separate, one of the whole table.
func (j *job) gradients(seed int) []Gradient {
	r := rand.New(rand.NewPCG(2, uint64(seed)))
	random := func(shape ...int) *tensor.Tensor {
		t := tensor.New(tensor.Float32, shape...)
		for i := range tensor.Values[float32](t) {
			tensor.Values[float32](t)[i] = float32(r.NormFloat64())
		}
		return t
	}
	ids := []int64{int64(r.IntN(11)), 3, int64(r.IntN(11)), 3, int64(r.IntN(5))}
	all := []Gradient{{Variable: "w", Value: random(7, 3)}, {Variable: "table", Value: random(5, 2), IDs: ids}, {Variable: "b", Value: random()}}
	if j.clipped() {
		places := []int64{10, int64(r.IntN(11)), 10, 3, 3, 0}
		all = append(all, Gradient{Variable: "table", Lookup: 1, Apart: true, Value: random(6, 2), IDs: places}, Gradient{Variable: "table", Lookup: 2, Value: random(11, 2)})
	}
	return all
}

func (j *job) state() State {
	return State{Value: func(name string) Fill {
		t := j.first[name]
		if t == nil {
			return nil
		}
		return fillWhole(t)
	}}
}

func fillWhole(t *tensor.Tensor) Fill {
	return func(dst *tensor.Tensor, first int) error {
		size := len(t.Bytes)
		if len(t.Shape) > 0 {
			size /= t.Shape[0]
		}
		copy(dst.Bytes, t.Bytes[first*size:])
		return nil
	}
}

// reference trains in one process, with a dense gradient for the table if asked.
type reference struct {
	tb   testing.TB
	vars *engine.Variables
	prog *engine.Program
	step int64
}

func newReference(tb testing.TB, j *job) *reference {
	tb.Helper()
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		tb.Fatal(err)
	}
	for n, t := range j.first {
		if err := vars.Create(n, t); err != nil {
			tb.Fatal(err)
		}
	}
	for _, s := range update.Slots(j.train) {
		t := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		if err := s.Init.Init(t, 0); err != nil {
			tb.Fatal(err)
		}
		if err := vars.Create(s.Name, t); err != nil {
			tb.Fatal(err)
		}
	}
	b := graph.NewBuilder(graph.New())
	f := func(shape ...int) graph.Type {
		return graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(shape...)}
	}
	step := b.Placeholder("step", graph.Type{DType: tensor.Int64})
	feeds := []graph.Output{step}
	feed := func(name string, t graph.Type) graph.Output {
		feeds = append(feeds, b.Placeholder(name, t))
		return feeds[len(feeds)-1]
	}
	// rows has n rows of the table for each row of the batch.
	rows := func(name string, n int, byIndex bool) lower.Slices {
		d := graph.Dim{PerBatch: n}
		ids := feed(name+"_ids", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{d}}})
		return lower.Slices{Rows: feed(name, graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{d, graph.Fixed(2)}}}), Indices: ids, ByIndex: byIndex}
	}
	w, bias := feed("gw", f(7, 3)), feed("gb", f())
	table := []lower.Slices{rows("lookup", 5, true)}
	if j.clipped() {
		table = append(table, rows("gather", 6, false), lower.Slices{Rows: feed("whole", f(11, 2))})
	}
	applied, err := update.Emit(j.train, b, update.Env{GlobalStep: step, Gradients: []lower.Value{
		{Output: w}, lower.SparseValue(graph.ShapeOf(11, 2), table...), {Output: bias}}})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := engine.Compile(b.Graph, engine.Spec{Feeds: feeds, Targets: applied.Targets}, dev, vars, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &reference{tb: tb, vars: vars, prog: p}
}

// run takes a step with the sum of share times the gradients.
func (r *reference) run(all ...[]Gradient) {
	r.tb.Helper()
	share := 1 / float64(len(all))
	feeds := []*tensor.Tensor{tensor.Scalar(r.step)}
	for _, k := range []int{0, 2, 1, 3, 4}[:len(all[0])] {
		like := all[0][k]
		if like.IDs == nil {
			sum := tensor.New(tensor.Float32, like.Value.Shape...)
			for _, g := range all {
				addScaled(tensor.Float32, sum.Bytes, g[k].Value.Bytes, share)
			}
			feeds = append(feeds, sum)
			continue
		}
		var ids []int64
		var rows []float32
		for _, g := range all {
			ids = append(ids, g[k].IDs...)
			for _, x := range tensor.Values[float32](g[k].Value) {
				rows = append(rows, x*float32(share))
			}
		}
		i, _ := tensor.FromSlice(ids, len(ids))
		v, _ := tensor.FromSlice(rows, len(ids), 2)
		feeds = append(feeds, i, v)
	}
	if err := r.prog.Run(context.Background(), len(all), feeds); err != nil {
		r.tb.Fatal(err)
	}
	r.step++
}

// all returns all variables.
func (r *reference) all() map[string]*tensor.Tensor {
	m, err := r.vars.Snapshot()
	if err != nil {
		r.tb.Fatal(err)
	}
	return m
}

func testContext(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func newLocal(tb testing.TB, servers, workers int, c ServerConfig) *Local {
	tb.Helper()
	l, err := NewLocal(servers, workers, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func (j *job) plan(tb testing.TB, c Config) *Plan {
	tb.Helper()
	c.Train = j.train
	p, err := NewPlan(j.variables, c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// read returns all values of a snapshot, put together.
func read(tb testing.TB, s *Snapshot) map[string]*tensor.Tensor {
	tb.Helper()
	out := map[string]*tensor.Tensor{}
	for n, t := range s.Scalars {
		out[n] = t
	}
	for _, x := range s.Parts {
		if out[x.Name] == nil {
			out[x.Name] = tensor.New(x.Type.DType, x.Type.Shape.At(0)...)
		}
		t, err := x.Read(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		whole := out[x.Name]
		size := len(whole.Bytes)
		if len(whole.Shape) > 0 {
			size /= max(whole.Shape[0], 1)
		}
		copy(whole.Bytes[x.First*size:], t.Bytes)
	}
	return out
}

// compare compares named tensors with a relative tolerance.
func compare(tb testing.TB, got, want map[string]*tensor.Tensor, tolerance float64) {
	tb.Helper()
	for n, w := range want {
		g := got[n]
		if g == nil {
			tb.Errorf("%s is missing", n)
			continue
		}
		if fmt.Sprint(g.Shape) != fmt.Sprint(w.Shape) || g.DType != w.DType {
			tb.Errorf("%s: %v%v, expected %v%v", n, g.DType, g.Shape, w.DType, w.Shape)
			continue
		}
		for i := range w.Len() {
			if a, b := g.Float(i), w.Float(i); !testkit.Near(a, b, tolerance*(1+math.Abs(b))) {
				tb.Errorf("%s[%d]: %v, expected %v", n, i, a, b)
				break
			}
		}
	}
	if len(got) != len(want) {
		tb.Errorf("%d tensors, expected %d", len(got), len(want))
	}
}
