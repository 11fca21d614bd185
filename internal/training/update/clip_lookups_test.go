package update

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// lookup is one lookup in a table, a part of its gradient: rows with one element.
type lookup struct {
	byIndex bool
	ids     []int64 // nil: the whole table
	rows    []float64
}

// seen returns the numbers that a clip of lookups uses, and their rows in the table.
func seen(lookups []lookup) (values []float64, rows []int64) {
	for _, l := range lookups {
		sum := map[int64]int{}
		for i, x := range l.rows {
			id := int64(i)
			if l.ids != nil {
				id = l.ids[i]
			}
			at, known := sum[id]
			switch {
			case id < 0:
			case known && l.byIndex:
				values[at] += x
			default:
				sum[id] = len(values)
				values, rows = append(values, x), append(rows, id)
			}
		}
	}
	return values, rows
}

// clipped returns the update of a table with n rows by the definition of the clip; beside are the numbers of another gradient.
func clipped(kind optimizers.TransformKind, limit float64, n int, lookups []lookup, beside []float64) []float64 {
	values, rows := seen(lookups)
	factor := 1.0
	switch kind {
	case optimizers.ClipNorm:
		factor = limit / math.Max(norm(values...), limit)
	case optimizers.ClipGlobalNorm:
		factor = limit / math.Max(norm(append(values, beside...)...), limit)
	}
	out := make([]float64, n)
	for i, x := range values {
		if kind == optimizers.ClipValue {
			x = math.Max(math.Min(x, limit), -limit)
		}
		out[rows[i]] += factor * x
	}
	return out
}

// TestClipsOfLookups draws lookups in a small table with rows of one element - repeated,
// with padding, empty, of the whole table - and compares with the clip's definition.
func TestClipsOfLookups(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(r, "rows")
		number := rapid.OneOf(rapid.SampledFrom([]float64{0, 0.5, -0.5, 1}), rapid.Float64Range(-2, 2)) // includes the limit itself
		var lookups []lookup
		for range rapid.IntRange(1, 3).Draw(r, "lookups") {
			l := lookup{byIndex: rapid.Bool().Draw(r, "by index")}
			if rapid.IntRange(0, 5).Draw(r, "whole") == 0 {
				l.rows = rapid.SliceOfN(number, n, n).Draw(r, "table")
			} else {
				l.ids = rapid.SliceOfN(rapid.Int64Range(-1, int64(n-1)), 1, 9).Draw(r, "ids")
				l.rows = rapid.SliceOfN(number, len(l.ids), len(l.ids)).Draw(r, "values")
				for i, id := range l.ids {
					if !l.byIndex {
						l.ids[i] = max(id, 0)
					} else if id < 0 {
						l.rows[i] = 0
					}
				}
			}
			lookups = append(lookups, l)
		}
		beside := rapid.SliceOfN(number, 2, 2).Draw(r, "beside")
		kind := rapid.SampledFrom([]optimizers.TransformKind{optimizers.ClipNorm, optimizers.ClipValue, optimizers.ClipGlobalNorm}).Draw(r, "kind")
		got, err := applyLookups(n, lookups, beside, optimizers.Transform{Kind: kind, Limit: 0.5})
		if err != nil {
			r.Fatal(err)
		}
		for i, want := range clipped(kind, 0.5, n, lookups, beside) {
			if d := math.Abs(got[i] - want); !(d <= 1e-12) {
				r.Fatalf("%s of %+v: row %d moves by %v, expected %v", kind, lookups, i, got[i], want)
			}
		}
	})
}

// applyLookups makes one step of plain descent with rate -1 from zeros and returns the table.
func applyLookups(n int, lookups []lookup, beside []float64, clips ...optimizers.Transform) ([]float64, error) {
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		return nil, err
	}
	defer vars.Close()
	table, other := variable("table", n), variable("other", len(beside))
	b := graph.NewBuilder(graph.New())
	var all []lower.Slices
	for i, l := range lookups {
		s := lower.Slices{Rows: b.Const(fmt.Sprint("rows", i), vector(l.rows...)), ByIndex: l.byIndex}
		if l.ids != nil {
			ids, err := tensor.FromSlice(l.ids, len(l.ids))
			if err != nil {
				return nil, err
			}
			s.Indices = b.Const(fmt.Sprint("ids", i), ids)
		}
		all = append(all, s)
	}
	op := trainOp(&optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(-1), Transforms: clips}, table, other)
	applied, err := Emit(op, b, Env{GlobalStep: b.Scalar("step", tensor.Int64, 0), Gradients: []lower.Value{
		lower.SparseValue(graph.ShapeOf(n), all...), {Output: b.Const("beside", vector(beside...))}}})
	if err != nil {
		return nil, err
	}
	for _, v := range []string{"table", "other"} {
		size := map[string]int{"table": n, "other": len(beside)}[v]
		if err := vars.CreateZero(v, tensor.Float64, size); err != nil {
			return nil, err
		}
	}
	p, err := engine.Compile(b.Graph, engine.Spec{Targets: applied.Targets}, dev, vars, engine.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Run(context.Background(), 1, nil); err != nil {
		return nil, err
	}
	x, err := vars.Get("table")
	if err != nil {
		return nil, err
	}
	return tensor.Values[float64](x), nil
}

// TestClipsOfNumbersThatAreNotFinite: as in TensorFlow, a global norm that is not
// finite makes all gradients NaN; the norm of a single gradient leaves zeros next to NaN.
func TestClipsOfNumbersThatAreNotFinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		kind optimizers.TransformKind
		in   []float64
		want []float64
	}{
		{optimizers.ClipGlobalNorm, []float64{inf, 1}, []float64{nan, nan}},
		{optimizers.ClipGlobalNorm, []float64{nan, 1}, []float64{nan, nan}},
		{optimizers.ClipNorm, []float64{inf, 1}, []float64{nan, 0}},
		{optimizers.ClipNorm, []float64{nan, 1}, []float64{nan, nan}},
		{optimizers.ClipValue, []float64{inf, -inf, nan, 0}, []float64{0.5, -0.5, nan, 0}},
	} {
		for _, byIndex := range []bool{false, true} {
			ids := []int64{0, 1, 2, 3}[:len(c.in)]
			got, err := applyLookups(len(c.in), []lookup{{byIndex, ids, c.in}}, []float64{0, 0}, optimizers.Transform{Kind: c.kind, Limit: 0.5})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
					t.Errorf("%s of %v: got %v, expected %v", c.kind, c.in, got, c.want)
					break
				}
			}
		}
	}
}

// TestClipApart: applying Clip first, then the update without transforms, gives the same result.
func TestClipApart(t *testing.T) {
	op := trainOp(&optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(1), Transforms: []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: 0}}}, variable("w", 1))
	b := graph.NewBuilder(graph.New())
	if _, _, err := Clip(op, b, []lower.Value{{Output: b.Const("g", vector(1))}}); err == nil || !strings.Contains(err.Error(), "expected > 0") {
		t.Errorf("a limit of 0: got %v", err)
	}
	op.Transforms[0].Limit = 2
	plain, grads, err := Clip(op, b, []lower.Value{{Output: b.Const("g", vector(1))}})
	if err != nil || plain.Transforms != nil || len(op.Transforms) != 1 || grads[0].Output.Node.Op != "Mul" {
		t.Errorf("got %+v, %v, %v", plain, grads, err)
	}
}
