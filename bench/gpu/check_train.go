package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goestimator/goestimator/inputs/glyphs"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// trainingCheck trains on glyphs, the built-in digits: generated data that can be learned.
type trainingCheck struct {
	benchCase
	steps int
	least float64 // accuracy
}

var lessons = map[string]trainingCheck{
	"mlp":      {benchCase{Name: "mlp", Net: "mlp", Batch: 128, Dims: []int{28, 28, 1}, Classes: 10, Rule: "adam", Rate: 0.001}, 600, 0.9},
	"cnn":      {benchCase{Name: "cnn", Net: "cnn", Batch: 64, Dims: []int{28, 28, 1}, Classes: 10, Rule: "adam", Rate: 0.001}, 300, 0.95},
	"resnet20": {benchCase{Name: "resnet20", Net: "resnet20", Batch: 64, Dims: []int{28, 28, 1}, Classes: 10, Rule: "momentum", Rate: 0.02}, 250, 0.95},
}

// on adapts the check to a device: a few steps for the emulated GPU.
func (l trainingCheck) on(g *gpu) trainingCheck {
	if g.emulated {
		l.Tiny, l.Batch, l.steps, l.least = true, 8, 3, 0
	}
	return l
}

// batch draws examples from an index on.
func (l *trainingCheck) batch(from int) (x, labels *tensor.Tensor) {
	x, labels = tensor.New(tensor.Float32, append([]int{l.Batch}, l.Dims...)...), tensor.New(tensor.Int64, l.Batch)
	pixels := make([]byte, glyphs.Pixels)
	for i := range l.Batch {
		tensor.Values[int64](labels)[i] = int64(glyphs.Draw(pixels, 1, int64(from+i)))
		for j, p := range pixels {
			tensor.Values[float32](x)[i*glyphs.Pixels+j] = float32(p)/255 - 0.5
		}
	}
	return x, labels
}

// feeds returns the batch of a step.
func (l *trainingCheck) feeds(step int) []*tensor.Tensor {
	x, labels := l.batch(step * l.Batch)
	return []*tensor.Tensor{x, labels}
}

// heldOut is the index of the first example for tests.
const heldOut = 1 << 30

// accuracy is the share of right answers among held-out examples.
func (l *trainingCheck) accuracy(ctx context.Context, dev device.Device, vars *engine.Variables, how engine.Precision) (float64, error) {
	t, err := newLogits(&l.benchCase)
	if err != nil {
		return 0, err
	}
	p, err := engine.Compile(t.graph, t.spec, dev, vars, engine.Options{Capacity: l.Batch, Precision: how})
	if err != nil {
		return 0, err
	}
	right, n := 0, 0
	for n < 2000 {
		x, labels := l.batch(heldOut + n)
		if err := p.Run(ctx, l.Batch, []*tensor.Tensor{x}); err != nil {
			return 0, errors.Join(err, p.Close())
		}
		logits := p.Value(0)
		for i, label := range tensor.Values[int64](labels) {
			best := 0
			for c := range l.Classes {
				if logits.Float(i*l.Classes+c) > logits.Float(i*l.Classes+best) {
					best = c
				}
			}
			if int64(best) == label {
				right++
			}
		}
		if n += l.Batch; l.Tiny {
			break
		}
	}
	return float64(right) / float64(n), p.Close()
}

// outcome is the result of a training.
type outcome struct {
	losses   []float64
	accuracy float64
	onHost   []string // ops that ran on the host instead of the GPU
}

func (l *trainingCheck) learn(ctx context.Context, dev device.Device, how engine.Precision) (o outcome, err error) {
	t, err := newTraining(&l.benchCase, false)
	if err != nil {
		return o, err
	}
	s, err := t.start(dev, how, l.feeds)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	o.onHost = s.p.HostSteps()
	if o.losses, err = s.losses(ctx, l.steps); err != nil {
		return o, err
	}
	o.accuracy, err = l.accuracy(ctx, dev, s.vars, how)
	return o, err
}

// trains trains a network on the processor, and on the GPU in each precision. The GPU's losses must follow the processor's,
// with about the same accuracy.
func trains(ctx context.Context, g *gpu, name string) (string, error) {
	l := lessons[name].on(g)
	host := device.NewHost()
	defer host.Close()
	want, err := l.learn(ctx, host, engine.Float32)
	if err != nil {
		return "", fmt.Errorf("on the processor: %w", err)
	}
	seen, errs := []string{fmt.Sprintf("accuracy on the processor %.4f", want.accuracy)}, []error{}
	for _, how := range []struct {
		engine.Precision
		first, curve, accuracy float64 // tolerances
	}{{engine.Float32, 1e-4, 0.1, 0.015}, {engine.TF32, 5e-3, 0.1, 0.015}, {engine.BF16Mixed, 5e-2, 0.2, 0.02}} {
		got, err := l.learn(ctx, g, how.Precision)
		if err != nil {
			return "", fmt.Errorf("%v: %w", how.Precision, err)
		}
		seen = append(seen, fmt.Sprintf("%v %.4f", how.Precision, got.accuracy))
		if len(got.onHost) > 0 {
			errs = append(errs, fmt.Errorf("%v: ops ran on the host: %v", how.Precision, got.onHost))
		}
		if err := near(want.losses[:min(3, l.steps)], got.losses, how.first); err != nil {
			errs = append(errs, fmt.Errorf("%v: first losses: %w", how.Precision, err))
		}
		if err := alike(want.losses, got.losses, how.curve); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", how.Precision, err))
		}
		if got.accuracy < max(l.least, want.accuracy-how.accuracy) && !l.Tiny {
			errs = append(errs, fmt.Errorf("%v: accuracy %.4f, expected at least %.4f", how.Precision, got.accuracy, max(l.least, want.accuracy-how.accuracy)))
		}
	}
	return strings.Join(seen, ", "), errors.Join(errs...)
}

// alike compares the means of two curves over each tenth. The tolerance is relative to the mean or 0.5, whichever is larger: rounding
// makes trainings diverge, which shows most when little is left to learn.
func alike(want, got []float64, tolerance float64) error {
	const parts = 10
	n := max(1, len(want)/parts)
	for at := 0; at+n <= len(want); at += n {
		a, b := mean(want[at:at+n]), mean(got[at:at+n])
		if d := math.Abs(a - b); !(d <= tolerance*max(a, 0.5)) {
			return fmt.Errorf("mean loss of steps %d to %d: expected %.4g within %g, got %.4g", at+1, at+n, a, tolerance, b)
		}
	}
	return nil
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
