package engine

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// doubling is a program that adds its feed of shape [B] to itself.
func doubling(t *testing.T, dev device.Device) *Program {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	column := graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()}
	x := b.Placeholder("x", column)
	y := b.Op("AddV2", "y", column, nil, x, x)
	p, err := Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{Capacity: 2})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func column(x ...float32) []*tensor.Tensor { return []*tensor.Tensor{ok(tensor.FromSlice(x, len(x)))} }

// TestPanicIsAnError checks that a kernel's panic names its node, and that the program can be used afterwards.
func TestPanicIsAnError(t *testing.T) {
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		p := doubling(t, dev)
		run, onBatch := p.steps[0].compute, p.steps[0].onBatch
		for _, c := range []struct {
			name  string
			panic func() error
			prep  bool
		}{
			{"kernel", func() error { panic("boom") }, false},
			{"kernel on a worker", func() error {
				parallel(1, func(lo, _ int) { _ = make([]int, 1)[lo+1] })(100)
				return nil
			}, false},
			{"preparation", func() error { panic("boom") }, true},
		} {
			if c.prep {
				p.steps[0].onBatch = c.panic
			} else {
				p.steps[0].compute = c.panic
			}
			err := p.Run(bg, 1, column(1))
			var e *PanicError
			if !errors.As(err, &e) || e.Node != "y" || e.Op != "AddV2" || len(e.Stack) == 0 || !strings.HasPrefix(err.Error(), "node y (AddV2): panic: ") {
				t.Errorf("%s: expected a PanicError of node y, got %v", c.name, err)
			}
			var r runtime.Error
			if want := c.name == "kernel on a worker"; errors.As(err, &r) != want {
				t.Errorf("%s: expected a runtime error %v, got %v", c.name, want, err)
			}
			if p.Value(0) != nil {
				t.Errorf("%s: expected no result", c.name)
			}
			p.steps[0].compute, p.steps[0].onBatch = run, onBatch
			if err := p.Run(bg, 2, column(1, 2)); err != nil || p.Value(0).Float(1) != 4 {
				t.Errorf("%s: the next run: %v", c.name, err)
			}
		}
	})
}

// TestClosed checks that a closed program returns ErrClosed, however often it is closed.
func TestClosed(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		p := doubling(t, dev)
		if err := p.Run(bg, 1, column(1)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		if err := p.Run(bg, 1, column(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("expected %v, got %v", ErrClosed, err)
		}
		if p.Value(0) != nil || p.Fetch(0, &tensor.Tensor{}) == nil {
			t.Error("expected no results of a closed program")
		}
	})
}

// full is a device without room for more.
type full struct {
	device.Device
	full bool
}

func (d *full) Alloc(n int) (device.Buffer, error) {
	if d.full {
		return nil, errors.New("no room")
	}
	return d.Device.Alloc(n)
}

// fullAccelerator is an accelerator without room for more.
type fullAccelerator struct {
	Accelerator
	limit *full
}

func (d fullAccelerator) Alloc(n int) (device.Buffer, error) { return d.limit.Alloc(n) }

// device returns the device that programs are compiled for.
func (d *full) device() device.Device {
	if a, ok := d.Device.(Accelerator); ok {
		return fullAccelerator{a, d}
	}
	return d
}

// TestGrowthFails checks that a program can still be used after a batch that is too large for it.
func TestGrowthFails(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		d := &full{Device: dev}
		p := doubling(t, d.device())
		d.full = true
		if err := p.Run(bg, 3, column(1, 2, 3)); err == nil {
			t.Fatal("expected an error")
		}
		d.full = false
		for _, x := range [][]float32{{1}, {1, 2, 3}} {
			if err := p.Run(bg, len(x), column(x...)); err != nil || p.Value(0).Float(len(x)-1) != 2*float64(x[len(x)-1]) {
				t.Errorf("batch of %d after a failure: %v", len(x), err)
			}
		}
		for _, batch := range []int{1 << 45, 1 << 60, 1<<63 - 1} {
			feed := &tensor.Tensor{DType: tensor.Float32, Shape: []int{batch}}
			if err := p.Run(bg, batch, []*tensor.Tensor{feed}); err == nil {
				t.Errorf("batch of %d: expected an error", batch)
			}
		}
		if err := p.Run(bg, 1, column(5)); err != nil || p.Value(0).Float(0) != 10 {
			t.Errorf("after batches that are too large: %v", err)
		}
	})
}

// TestRefusedFeedsLeaveTheBatch checks that a run whose feeds are refused does not count for its batch size: the next
// run computes the values that depend on the size.
func TestRefusedFeedsLeaveTheBatch(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()})
		rows := b.Op("Cast", "rows", fixedType(tensor.Float32), nil, b.Op("Size", "size", fixedType(tensor.Int32), nil, x))
		y := b.Op("Mul", "y", x.Type(), nil, x, rows)
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{Capacity: 4}))
		if err := p.Run(bg, 1, column(1)); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(bg, 3, column(1)); err == nil {
			t.Error("expected an error for 1 row in a batch of 3")
		}
		if err := p.Run(bg, 3, column(1, 2, 3)); err != nil || p.Value(0).Float(0) != 3 {
			t.Errorf("expected 3 after refused feeds, got %v (%v)", p.Value(0), err)
		}
	})
}
