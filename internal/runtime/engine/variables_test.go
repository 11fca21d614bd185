package engine

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

func TestVariables(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		v := ok(NewVariables(dev))
		init := dense([]float32{1, 2}, 2)
		if err := errors.Join(v.Create("b", init), v.Create("a", tensor.Scalar(int64(3)))); err != nil {
			t.Fatal(err)
		}
		tensor.Values[float32](init)[0] = 9
		if got := tensor.Values[float32](ok(v.Get("b"))); !slices.Equal(got, []float32{1, 2}) {
			t.Errorf("expected a copy of the initial value, got %v", got)
		}
		if err := v.Set("b", dense([]float32{3, 4}, 2)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.Names(), []string{"a", "b"}) {
			t.Errorf("names: got %v", v.Names())
		}
		snap := ok(v.Snapshot())
		if got := tensor.Values[float32](snap["b"]); !slices.Equal(got, []float32{3, 4}) || tensor.Values[int64](snap["a"])[0] != 3 {
			t.Errorf("snapshot: got %v", snap)
		}
		if typ, found := v.Type("b"); !found || typ.DType != tensor.Float32 || typ.Shape.String() != "[2]" {
			t.Errorf("type: got %v, %v", typ, found)
		}
		for name, err := range map[string]error{
			"taken":      v.Create("a", init),
			"text":       v.Create("c", ok(tensor.FromStrings(nil, 0))),
			"other type": v.Set("a", init),
			"unknown":    v.Set("zz", init),
		} {
			if err == nil {
				t.Errorf("%s: expected an error", name)
			}
		}
		if _, err := v.Get("zz"); !errors.Is(err, ErrVariable) {
			t.Errorf("expected ErrVariable, got %v", err)
		}
	})
}

// TestConcurrentPrograms trains with one program while another evaluates and a third goroutine takes snapshots.
func TestConcurrentPrograms(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		m := newMLP(tensor.Float32, 8, 16, 3, 0.1)
		vars := m.variables(t, dev, 1)
		train := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 8}))
		eval := ok(Compile(m.g, Spec{Feeds: m.spec.Feeds[:1], Fetches: m.spec.Fetches[1:]}, dev, vars, Options{Capacity: 8}))
		feeds := []*tensor.Tensor{tensor.New(tensor.Float32, 8, 8), tensor.New(tensor.Int64, 8)}
		var wg sync.WaitGroup
		for _, f := range []func() error{
			func() error { return train.Run(bg, 8, feeds) },
			func() error { return eval.Run(bg, 8, feeds[:1]) },
			func() error { _, err := vars.Snapshot(); return err },
		} {
			wg.Go(func() {
				for range 30 {
					if err := f(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}
