package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/tensor"
)

// overwriting is the device's batch memory, filled with garbage before and after its use.
type overwriting struct {
	inputs.BatchMemory
	large, allocated *atomic.Int64
}

func (o overwriting) Allocate(size int) []byte {
	b := o.BatchMemory.Allocate(size)
	if o.allocated.Add(1); !o.BatchMemory.Prefers(b) && size >= 64<<10 {
		o.large.Add(1)
	}
	for i := range b {
		b[i] = 0xA5
	}
	return b
}

func (o overwriting) Free(b []byte) {
	for i := range b {
		b[i] = 0x5A
	}
	o.BatchMemory.Free(b)
}

// pinnedData returns batches of 500 rows of 64 features, 128 KiB, in memory that f makes from the device's
// batch memory.
type pinnedData struct {
	inputs.Dataset
	f func(inputs.BatchMemory) inputs.BatchMemory
}

func (w pinnedData) Iterate(ctx context.Context) (inputs.Iterator, error) {
	if mem := inputs.BatchMemoryOf(ctx); mem != nil {
		ctx = inputs.WithBatchMemory(ctx, w.f(mem))
	}
	return w.Dataset.Iterate(ctx)
}

// pinnedInput is an input_fn of such batches.
func pinnedInput(f func(inputs.BatchMemory) inputs.BatchMemory, last ...inputs.Transform) estimator.InputFn {
	return estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		const rows, width = 1000, 64
		x, y := make([]float32, rows*width), make([]int32, rows)
		for i := range x {
			x[i] = float32(uint32(i)*2654435761>>16%97)/97 - 0.5
		}
		for i := range y {
			y[i] = int32(i % 3)
			x[i*width] += float32(y[i])
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, width), inputs.Slice("y", inputs.Label, y))
		if err != nil {
			return nil, err
		}
		return pinnedData{inputs.Pipe(inputs.Pipe(ds, inputs.Shuffle(300, 1), inputs.Repeat(8), inputs.Batch(500, false)), last...), f}, nil
	})
}

// TestBatchesInTheDevicesMemory trains on batches in memory that the GPU reads directly and that is overwritten
// on release. It compares the result with training in ordinary memory.
func TestBatchesInTheDevicesMemory(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	var large, allocated atomic.Int64
	train := func(in estimator.InputFn) map[string]*tensor.Tensor {
		e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpu))
		if _, err := e.Train(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Evaluate(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		all := map[string]*tensor.Tensor{}
		names, err := e.VariableNames()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			all[name] = value(t, e, name)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	ordinary := func(inputs.BatchMemory) inputs.BatchMemory { return nil }
	pinned := func(mem inputs.BatchMemory) inputs.BatchMemory { return overwriting{mem, &large, &allocated} }
	want := train(pinnedInput(ordinary))
	for name, last := range map[string][]inputs.Transform{"none": nil, "prefetch": {inputs.Prefetch(2)}} {
		large.Store(0)
		for variable, v := range train(pinnedInput(pinned, last...)) {
			if !bytes.Equal(v.Bytes, want[variable].Bytes) {
				t.Errorf("%s: variable %s differs", name, variable)
			}
		}
		if large.Load() < 16 {
			t.Errorf("%s: expected each batch in page-locked memory, got %d pieces", name, large.Load())
		}
	}
}

// keeping keeps a record of each pass.
type keeping struct {
	inputs.Dataset
	kept *[]arrow.Record
}

func (k keeping) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := k.Dataset.Iterate(ctx)
	return &keepingIterator{it, k.kept}, err
}

type keepingIterator struct {
	inputs.Iterator
	kept *[]arrow.Record
}

func (it *keepingIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err == nil && len(*it.kept) == 0 {
		rec.Retain()
		*it.kept = append(*it.kept, rec)
	}
	return rec, err
}

// TestRecordsThatAreKept: a record that is kept after training can still be read. The GPU closes when it is
// released.
func TestRecordsThatAreKept(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	var log strings.Builder
	var kept []arrow.Record
	in := pinnedInput(func(mem inputs.BatchMemory) inputs.BatchMemory { return mem })
	data := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := in.Input(ctx, ic)
		return keeping{ds, &kept}, err
	})
	e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpu), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if _, err := e.Train(t.Context(), data, estimator.Steps(3)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "stays open") {
		t.Errorf("expected a warning, got %s", &log)
	}
	ds, err := in.Input(t.Context(), inputs.Context{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	want, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	for i, c := range kept[0].Columns() {
		if c.String() != want.Column(i).String() {
			t.Errorf("column %d changed", i)
		}
	}
	kept[0].Release()
}

// counted counts the batches that were read.
type counted struct {
	inputs.Dataset
	read *atomic.Int64
}

func (c counted) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := c.Dataset.Iterate(ctx)
	return &countedIterator{it, c.read}, err
}

type countedIterator struct {
	inputs.Iterator
	read *atomic.Int64
}

func (it *countedIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err == nil {
		it.read.Add(1)
	}
	return rec, err
}

// TestTwoBatchesAhead: while a step runs on a GPU, the batches of the next two are in flight. After resuming
// from a checkpoint, each step gets the same batch as without the interruption.
func TestTwoBatchesAhead(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	var read atomic.Int64
	data := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := equalData(ctx, ic)
		return counted{ds, &read}, err
	})
	var ahead []int64
	hook := hookFunc(func(r hooks.Run) error {
		ahead = append(ahead, read.Load()-r.GlobalStep())
		return nil
	})
	train := func(dir string, steps ...int64) *tensor.Tensor {
		for _, to := range steps {
			read.Store(0)
			e := onDevice(t, dir, "", estimator.WithGPUs(gpu))
			if _, err := e.Train(t.Context(), data, estimator.MaxSteps(to), estimator.WithHooks(hook)); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		names, err := onDevice(t, dir, "/cpu:0").VariableNames()
		if err != nil {
			t.Fatal(err)
		}
		return value(t, onDevice(t, dir, "/cpu:0"), names[0])
	}
	want := train(t.TempDir(), 100)
	if len(ahead) != 100 || ahead[3] != 2 || ahead[97] != 2 || ahead[99] != 0 {
		t.Errorf("expected two batches ahead until the input ends, got %v", ahead)
	}
	if got := train(t.TempDir(), 13, 14, 57, 100); !bytes.Equal(got.Bytes, want.Bytes) {
		t.Error("the interrupted training differs")
	}
}

// breaking fails in place of its n-th batch, n from 0.
type breaking struct {
	inputs.Dataset
	n    int
	with error
}

func (b breaking) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := b.Dataset.Iterate(ctx)
	return &breakingIterator{it, b.n, b.with}, err
}

type breakingIterator struct {
	inputs.Iterator
	left int
	with error
}

func (it *breakingIterator) Next(ctx context.Context) (arrow.Record, error) {
	if it.left == 0 {
		return nil, it.with
	}
	it.left--
	return it.Iterator.Next(ctx)
}

// TestErrorBehindBatchesAhead: if the input fails, a GPU makes as many steps as the host before training fails.
func TestErrorBehindBatchesAhead(t *testing.T) {
	gpu, broken := gpustest.Emulated(t, 1), errors.New("broken")
	for _, good := range []int{0, 1, 2, 7} {
		data := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
			ds, err := equalData(ctx, ic)
			return breaking{ds, good, broken}, err
		})
		for _, dev := range []string{"/cpu:0", ""} {
			steps := 0
			hook := hookFunc(func(hooks.Run) error { steps++; return nil })
			e := onDevice(t, t.TempDir(), dev, estimator.WithGPUs(gpu))
			_, err := e.Train(t.Context(), data, estimator.WithHooks(hook))
			if want := fmt.Sprintf("after step %d: ", good); !errors.Is(err, broken) || !strings.Contains(err.Error(), want) || steps != good {
				t.Errorf("device %q: expected the input's error %q, got %v; %d steps were made", dev, want, err, steps)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestInterruptedWithBatchesAhead: a checkpoint on a signal has the position of the last step, not of the
// batches read ahead.
func TestInterruptedWithBatchesAhead(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	train := func(stops ...int64) *tensor.Tensor {
		dir := t.TempDir()
		for _, stop := range append(stops, 0) {
			ctx, cancel := context.WithCancel(t.Context())
			hook := hookFunc(func(r hooks.Run) error {
				if r.GlobalStep() == stop {
					cancel()
				}
				return nil
			})
			e := onDevice(t, dir, "", estimator.WithGPUs(gpu))
			_, err := e.Train(ctx, estimator.InputFunc(equalData), estimator.WithHooks(hook))
			cancel()
			if stop == 0 && err != nil || stop > 0 && !errors.Is(err, estimator.ErrInterrupted) {
				t.Fatalf("to stop at step %d: got %v", stop, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		e := onDevice(t, dir, "/cpu:0")
		names, err := e.VariableNames()
		if err != nil {
			t.Fatal(err)
		}
		return value(t, e, names[0])
	}
	if want, got := train(), train(5, 6, 44, 99); !bytes.Equal(got.Bytes, want.Bytes) {
		t.Error("the interrupted training differs")
	}
}
