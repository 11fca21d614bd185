package engine

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestVariablesBy: CreateBy, SetBy and View work on every device.
func TestVariablesBy(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		v := ok(NewVariables(dev))
		typ := graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(2)}
		put := func(a, b float32) func(*tensor.Tensor) error {
			return func(x *tensor.Tensor) error { copy(tensor.Values[float32](x), []float32{a, b}); return nil }
		}
		broken := errors.New("broken")
		fail := func(*tensor.Tensor) error { return broken }
		if err := v.CreateBy("x", typ, fail); !errors.Is(err, broken) || len(v.Names()) != 0 {
			t.Errorf("a value that cannot be made: got %v and %v", err, v.Names())
		}
		if err := errors.Join(v.CreateBy("x", typ, put(1, 2)), v.SetBy("x", put(3, 4))); err != nil {
			t.Fatal(err)
		}
		before := v.Version("x")
		for what, err := range map[string]error{"taken": v.CreateBy("x", typ, put(0, 0)), "text": v.CreateBy("s", graph.Type{DType: tensor.String}, put(0, 0)),
			"unknown": v.SetBy("zz", put(0, 0)), "unknown view": v.View("zz", fail), "failed": v.View("x", fail)} {
			if err == nil {
				t.Errorf("%s: expected an error", what)
			}
		}
		if v.Version("x") != before {
			t.Error("what is only read has another version")
		}
		if err := v.SetBy("x", put(5, 6)); err != nil || v.Version("x") == before {
			t.Errorf("got %v; the version is %d, as before", err, before)
		}
		lent := ok(v.Views())["x"]
		err := v.View("x", func(x *tensor.Tensor) error {
			if !slices.Equal(tensor.Values[float32](x), []float32{5, 6}) || !slices.Equal(tensor.Values[float32](lent), []float32{5, 6}) {
				t.Errorf("got %v and %v", tensor.Values[float32](x), tensor.Values[float32](lent))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestVariablesTakeTheirSize: creating, replacing and viewing values on the host takes no memory but the variable's.
func TestVariablesTakeTheirSize(t *testing.T) {
	const size = 32 << 20
	v := ok(NewVariables(device.NewHost()))
	touch := func(x *tensor.Tensor) error { x.Bytes[0]++; return nil }
	took := allocated(func() {
		if err := errors.Join(v.CreateBy("x", graph.Type{DType: tensor.Uint8, Shape: graph.ShapeOf(size)}, touch), v.SetBy("x", touch), v.View("x", func(*tensor.Tensor) error { return nil })); err != nil {
			t.Error(err)
		}
		if got := ok(v.Views())["x"].Bytes[0]; got != 2 {
			t.Errorf("got %d, expected 2", got)
		}
	})
	if took > size+size/8 {
		t.Errorf("a variable of %d MiB took %d MiB", size>>20, took>>20)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestUpdatedKeepsNoWeights: a program whose variables change between its runs reads them directly, and keeps no packed
// weights.
func TestUpdatedKeepsNoWeights(t *testing.T) {
	const n = 512
	for _, updated := range []bool{false, true} {
		dev := device.NewHost()
		vars := ok(NewVariables(dev))
		w := tensor.New(tensor.Float32, n, n)
		if err := vars.Create("w", w); err != nil {
			t.Fatal(err)
		}
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", batchType(tensor.Float32, n))
		typ := fixedType(tensor.Float32, n, n)
		y := b.Op("MatMul", "y", batchType(tensor.Float32, n), graph.Attrs{"T": tensor.Float32}, x, b.Read(b.Variable("w", typ), typ))
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, vars, Options{Capacity: 64, Updated: updated}))
		feed := tensor.New(tensor.Float32, 64, n)
		tensor.Values[float32](feed)[0] = 1
		if err := p.Run(t.Context(), 64, []*tensor.Tensor{feed}); err != nil {
			t.Fatal(err)
		}
		tensor.Values[float32](w)[0] = 7
		if err := vars.Set("w", w); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), 64, []*tensor.Tensor{feed}); err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[float32](p.Value(0))[0]; got != 7 {
			t.Errorf("updated %v: got %v, expected the product with the new value, 7", updated, got)
		}
		if kept := len(vars.weights.all); (kept == 0) != updated {
			t.Errorf("updated %v: %d weights are kept", updated, kept)
		}
		if err := errors.Join(p.Close(), vars.Close()); err != nil {
			t.Error(err)
		}
	}
}
