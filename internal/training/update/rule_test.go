package update

import (
	"fmt"
	"github.com/goestimator/goestimator/models/optimizers"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

func (r reference) optimizer(t *testing.T) *optimizers.Optimizer {
	t.Helper()
	p := maps.Clone(r.params)
	if p == nil {
		p = map[string]any{}
	}
	p["learning_rate"] = rate
	return mustNew(t, r.name, p)
}

func (r reference) String() string { return fmt.Sprint(r.name, r.params) }

// elements is a variable as the reference sees it.
type elements struct {
	ref   reference
	w     []float64
	slots []map[string]float64
}

func newElements(r reference, w []float64) *elements {
	e := &elements{ref: r, w: append([]float64(nil), w...)}
	for range w {
		s := maps.Clone(r.init)
		if s == nil {
			s = map[string]float64{}
		}
		e.slots = append(e.slots, s)
	}
	return e
}

func (e *elements) update(i int, g float64, t int) { e.w[i] = e.ref.step(e.w[i], g, e.slots[i], t) }

func normals(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func TestRulesDense(t *testing.T) {
	for _, ref := range references() {
		t.Run(ref.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			a, b := normals(r, 7), normals(r, 6)
			tr := start(t, trainOp(ref.optimizer(t), variable("a", 7), variable("b", 2, 3)),
				map[string]*tensor.Tensor{"a": vector(a...), "b": matrix(b, 2, 3)}, nil)
			ea, eb := newElements(ref, a), newElements(ref, b)
			for step := 1; step <= 20; step++ {
				ga, gb := normals(r, 7), normals(r, 6)
				tr.run(vector(ga...), matrix(gb, 2, 3))
				for i := range ga {
					ea.update(i, ga[i], step)
				}
				for i := range gb {
					eb.update(i, gb[i], step)
				}
			}
			near(t, "a", tr.get("a"), ea.w, 1e-11)
			near(t, "b", tr.get("b"), eb.w, 1e-11)
		})
	}
}

// TestRulesSparse feeds rows with equal indices; a row's gradient is their sum.
func TestRulesSparse(t *testing.T) {
	for _, ref := range references() {
		t.Run(ref.String(), func(t *testing.T) {
			o := ref.optimizer(t)
			const rows, cols, n = 5, 3, 4
			r := rand.New(rand.NewPCG(3, 4))
			w := normals(r, rows*cols)
			tr := start(t, trainOp(o, variable("w", rows, cols)), map[string]*tensor.Tensor{"w": matrix(w, rows, cols)}, map[string]int{"w": n})
			e := newElements(ref, w)
			for step := 1; step <= 20; step++ {
				g, ids := normals(r, n*cols), make([]int64, n)
				sum, present := make([]float64, rows*cols), make([]bool, rows)
				for i := range ids {
					ids[i] = r.Int64N(rows)
					present[ids[i]] = true
					for j := range cols {
						sum[int(ids[i])*cols+j] += g[i*cols+j]
					}
				}
				indices, _ := tensor.FromSlice(ids, n)
				tr.run(matrix(g, n, cols), indices)
				for i := range sum {
					if present[i/cols] || !ref.absent {
						e.update(i, sum[i], step)
					}
				}
			}
			near(t, "w", tr.get("w"), e.w, 1e-11)
		})
	}
}

// TestRulesFloat32 runs every rule on single precision variables and a device
// with its own memory.
func TestRulesFloat32(t *testing.T) {
	for _, ref := range references() {
		t.Run(ref.String(), func(t *testing.T) {
			const n = 5
			r := rand.New(rand.NewPCG(9, 10))
			v := variable("w", n)
			v.DType = tensor.Float32
			w := singles(r, n)
			tr := startOn(t, device.NewFake(), trainOp(ref.optimizer(t), v), map[string]*tensor.Tensor{"w": w}, nil)
			e := newElements(ref, []float64{w.Float(0), w.Float(1), w.Float(2), w.Float(3), w.Float(4)})
			for step := 1; step <= 20; step++ {
				g := singles(r, n)
				tr.run(g)
				for i := range n {
					e.update(i, g.Float(i), step)
				}
			}
			near(t, "w", tr.get("w"), e.w, 1e-4)
		})
	}
}

func singles(r *rand.Rand, n int) *tensor.Tensor {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	t, err := tensor.FromSlice(x, n)
	if err != nil {
		panic(err)
	}
	return t
}

// counting counts the bytes allocated on a device.
type counting struct {
	device.Device
	bytes int
}

func (c *counting) Alloc(n int) (device.Buffer, error) {
	c.bytes += n
	return c.Device.Alloc(n)
}

// programs are the rules that are written as arithmetic. Like rules of NewRule, they make a sparse gradient dense.
var programs = []string{"adadelta", "adamax", "amsgrad", "lamb", "lion", "nadam"}

// TestSparseNeedsNoTable checks that a sparse update allocates nothing of the variable's size except its slots.
func TestSparseNeedsNoTable(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: arithmetic of one goroutine")
	}
	const rows, cols = 20000, 16
	for _, name := range optimizers.Names() {
		o := mustNew(t, name, map[string]any{"global_clip_norm": 1.0, "weight_decay": 0.1})
		op := trainOp(o, variable("w", rows, cols))
		dev := &counting{Device: device.NewHost()}
		tr := startOn(t, dev, op, map[string]*tensor.Tensor{"w": tensor.New(tensor.Float64, rows, cols)}, map[string]int{"w": 4})
		ids, _ := tensor.FromSlice([]int64{1, 2, 3, 3}, 4)
		tr.run(tensor.New(tensor.Float64, 4, cols), ids)
		const table = rows * cols * 8
		if slices.Contains(programs, name) {
			continue
		}
		if got := dev.bytes - table*(1+len(ruleOf(op.Groups[0]).Slots())); got > table/2 {
			t.Errorf("%s: a sparse update allocates %d bytes, the variable has %d", name, got, table)
		}
	}
}

// TestRulesConverge minimises a quadratic and Rosenbrock's function with every rule.
func TestRulesConverge(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: arithmetic of one goroutine")
	}
	const momentum = 0.9
	for _, c := range []struct {
		name                  string
		params                map[string]any
		quadratic, rosenbrock float64 // learning rates
	}{
		{"sgd", nil, 0.1, 1e-3},
		{"momentum", nil, 0.05, 3e-4},
		{"momentum", map[string]any{"nesterov": true}, 0.05, 3e-4},
		{"keras_sgd", map[string]any{"momentum": momentum}, 0.05, 3e-4},
		{"adam", nil, 0.1, 0.02},
		{"adamw", map[string]any{"weight_decay": 1e-4}, 0.1, 0.02},
		{"keras_adam", nil, 0.1, 0.02},
		{"keras_adamw", map[string]any{"weight_decay": 1e-4}, 0.1, 0.02},
		{"adagrad", nil, 1, 0.5},
		{"keras_adagrad", nil, 1, 0.5},
		{"rmsprop", map[string]any{"momentum": momentum}, 1e-3, 1e-4},
		{"rmsprop", map[string]any{"centered": true, "epsilon": 1e-2}, 0.01, 1e-3},
		{"keras_rmsprop", nil, 5e-3, 1e-3},
		{"ftrl", nil, 1, 0.5},
		{"keras_ftrl", nil, 1, 0.5},
	} {
		t.Run(fmt.Sprint(c.name, c.params), func(t *testing.T) {
			p := maps.Clone(c.params)
			if p == nil {
				p = map[string]any{}
			}
			for _, f := range []struct {
				name      string
				rate      float64
				steps     int
				tolerance float64
				grad      func(x, y float64) (float64, float64)
			}{
				{"quadratic", c.quadratic, 2000, 0.02, func(x, y float64) (float64, float64) { return x - 1, 3 * (y - 1) }},
				{"rosenbrock", c.rosenbrock, 20000, 0.1, func(x, y float64) (float64, float64) {
					return -2*(1-x) - 400*x*(y-x*x), 200 * (y - x*x)
				}},
			} {
				p["learning_rate"] = f.rate
				tr := start(t, trainOp(mustNew(t, c.name, p), variable("w", 2)), map[string]*tensor.Tensor{"w": vector(-0.5, 0.8)}, nil)
				w := []float64{-0.5, 0.8}
				for range f.steps {
					gx, gy := f.grad(w[0], w[1])
					tr.run(vector(gx, gy))
					w = tr.get("w")
				}
				if d := math.Hypot(w[0]-1, w[1]-1); !(d < f.tolerance) {
					t.Errorf("%s: after %d steps at %v, %g from the minimum (1, 1)", f.name, f.steps, w, d)
				}
			}
		})
	}
}
