package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// casesRun runs a few steps of every benchmark case, made smaller, on GPU and processor. Losses must be equal, in
// float32 and in the case's precision.
func casesRun(ctx context.Context, g *gpu) (string, error) {
	var errs []error
	host := device.NewHost()
	defer host.Close()
	for _, k := range cases {
		k = k.tiny()
		t, err := newTraining(&k, true)
		if err != nil {
			return "", err
		}
		want, err := firstLosses(ctx, t, host, engine.Float32)
		if err != nil {
			return "", fmt.Errorf("%s on the processor: %w", k.Name, err)
		}
		for how, tolerance := range map[engine.Precision]float64{engine.Float32: 1e-3, k.precision(): 3 * k.Tolerance} {
			got, err := firstLosses(ctx, t, g, how)
			if err == nil {
				err = near(want, got, tolerance)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s, %v: %w", k.Name, how, err))
			}
		}
	}
	return fmt.Sprintf("%d cases, losses of %d steps", len(cases), checkedSteps), errors.Join(errs...)
}

func firstLosses(ctx context.Context, t *training, dev device.Device, how engine.Precision) (losses []float64, err error) {
	s, err := t.start(dev, how, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.losses(ctx, checkedSteps)
}

// snapshotAfter returns all variables after n steps, which are enqueued without waiting.
func snapshotAfter(ctx context.Context, g *gpu, l *trainingCheck, n int) (all map[string]*tensor.Tensor, err error) {
	t, err := newTraining(&l.benchCase, false)
	if err != nil {
		return nil, err
	}
	s, err := t.start(g, engine.TF32, l.feeds)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.steps(ctx, n); err != nil {
		return nil, err
	}
	return s.vars.Snapshot()
}

// sameBits trains twice: all variables must be equal bit for bit.
func sameBits(ctx context.Context, g *gpu) (string, error) {
	for _, name := range []string{"mlp", "resnet20"} {
		l := lessons[name].on(g)
		n := min(20, l.steps)
		a, err1 := snapshotAfter(ctx, g, &l, n)
		b, err2 := snapshotAfter(ctx, g, &l, n)
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		for _, v := range slices.Sorted(maps.Keys(a)) {
			if !bytes.Equal(a[v].Bytes, b[v].Bytes) {
				return "", fmt.Errorf("%s: variable %s differs between two runs of %d steps", name, v, n)
			}
		}
	}
	return "two runs give the same bits", nil
}

// moves moves a training from the GPU to the processor, and back: losses must continue as before.
func moves(ctx context.Context, g *gpu) (string, error) {
	l := lessons["mlp"].on(g)
	host := device.NewHost()
	defer host.Close()
	for _, way := range [][2]device.Device{{g, host}, {host, g}} {
		if err := l.move(ctx, way[0], way[1]); err != nil {
			return "", fmt.Errorf("from %s to %s: %w", way[0].Kind(), way[1].Kind(), err)
		}
	}
	return "trained on one, gone on with on the other", nil
}

func (l *trainingCheck) move(ctx context.Context, from, to device.Device) (err error) {
	t, err := newTraining(&l.benchCase, false)
	if err != nil {
		return err
	}
	a, err := t.start(from, engine.Float32, l.feeds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	b, err := t.start(to, engine.Float32, l.feeds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if _, err := a.losses(ctx, min(20, l.steps)); err != nil {
		return err
	}
	all, err := a.vars.Snapshot()
	if err != nil {
		return err
	}
	for name, v := range all {
		if err := b.vars.Set(name, v); err != nil {
			return err
		}
	}
	b.step = a.step
	want, err1 := a.losses(ctx, 3)
	got, err2 := b.losses(ctx, 3)
	return errors.Join(err1, err2, near(want, got, 1e-4))
}

// memoryStays runs 10,000 steps and compares the memory of GPU and host before and after.
func memoryStays(ctx context.Context, g *gpu) (string, error) {
	l := lessons["mlp"].on(g)
	t, err := newTraining(&l.benchCase, false)
	if err != nil {
		return "", err
	}
	drawn := [][]*tensor.Tensor{l.feeds(0), l.feeds(1), l.feeds(2)}
	s, err := t.start(g, engine.TF32, func(step int) []*tensor.Tensor { return drawn[step%len(drawn)] })
	if err != nil {
		return "", err
	}
	warm, n := 500, 10000
	if g.emulated {
		warm, n = 3, 20
	}
	if err := s.steps(ctx, warm); err != nil {
		return "", errors.Join(err, s.close())
	}
	device1, heap1, err1 := memory(g)
	err2 := s.steps(ctx, n)
	device2, heap2, err3 := memory(g)
	if err := errors.Join(err1, err2, err3, s.close()); err != nil {
		return "", err
	}
	seen := fmt.Sprintf("%d steps: GPU %d -> %d bytes, heap %d -> %d KiB, goroutines %d", n, device1, device2, heap1>>10, heap2>>10, runtime.NumGoroutine())
	if device2 > device1 || heap2 > heap1+8<<20 {
		return "", errors.New("memory grew: " + seen)
	}
	return seen, nil
}

// memory is the GPU memory in use, by all processes, and the live heap.
func memory(g *gpu) (onGPU int64, heap uint64, err error) {
	free, total, err := g.Context().Info()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return total - free, m.HeapAlloc, err
}
