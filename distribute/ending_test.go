package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestUnevenEnds: tasks whose share ends earlier take part with empty batches, and all end together.
func TestUnevenEnds(t *testing.T) {
	for _, c := range setups {
		for _, rows := range []int{1, toyBatch + 1, toyBatch*2 - 1} {
			got := c.trained(t, t.TempDir(), adam, rows)
			if want := (rows + toyBatch - 1) / toyBatch; len(got.losses) != want {
				t.Errorf("%s: %d steps over %d rows, expected %d", c.name, len(got.losses), rows, want)
			}
		}
	}
}

// TestCloseEndsAll: if one task closes its strategy, or is interrupted, the others' next step says so.
func TestCloseEndsAll(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
			s, err := distribute.New(rc, quiet)
			if err != nil {
				return err
			}
			defer s.Close(ctx)
			y, err := newToy(s, t, toyBatch*toyBatches, adam())
			if err != nil {
				return err
			}
			it, err := y.data.Iterate(ctx)
			if err != nil {
				return err
			}
			one := !rc.IsChief()
			running, cancel := context.WithCancel(ctx)
			defer cancel()
			for i := range toyBatches {
				batch, err := it.Next(ctx)
				if errors.Is(err, io.EOF) && !interrupted && s.GlobalStep() == 3 {
					_, err := y.train.Run(ctx, nil)
					if !errors.Is(err, distribute.ErrEnded) {
						t.Errorf("a step after the end: %v", err)
					}
					return nil
				}
				if err != nil {
					return err
				}
				if one && i == 2 {
					if !interrupted {
						return nil // and closes
					}
					cancel()
				}
				_, err = y.train.Run(running, batch)
				switch {
				case err == nil:
				case interrupted && errors.Is(err, distribute.ErrInterrupted):
					if want := int64(3); s.GlobalStep() != want {
						t.Errorf("ended after step %d, expected %d", s.GlobalStep(), want)
					}
					return nil
				default:
					return err
				}
			}
			return errors.New("training went on")
		})
	}
}

// TestCloseBeforeTheFirstStep: a task that closes without a step also ends training for the others, at their next step.
func TestCloseBeforeTheFirstStep(t *testing.T) {
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newSeer(rc)
		if err != nil {
			return err
		}
		defer p.Close(ctx)
		if _, err := p.Restore(ctx); err != nil || rc.IsChief() {
			return err
		}
		x := distribute.Batch{{"x": tensor.New(tensor.Float32, 4, 1)}}
		if _, err := p.train.Run(ctx, x); err != nil {
			return err
		}
		_, err = p.train.Run(ctx, x)
		if !errors.Is(err, distribute.ErrEnded) {
			t.Errorf("got %v, expected the end", err)
		}
		return nil
	})
}

// TestCloseBetweenFunctions: if several functions train, the others' next step must be of the function that ran first, not the one built first.
func TestCloseBetweenFunctions(t *testing.T) {
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		defer s.Close(ctx)
		var fs [2]*distribute.Function
		for i, name := range []string{"generator", "critic"} {
			if fs[i], err = s.Function(name, models.Train, ganStep(name+"/")); err != nil {
				return err
			}
		}
		x := distribute.Batch{{"x": tensor.New(tensor.Float32, 4, 6)}}
		for _, f := range []*distribute.Function{fs[1], fs[0]} {
			if _, err := f.Run(ctx, x); err != nil {
				return err
			}
		}
		if rc.IsChief() {
			return nil // and closes
		}
		if _, err = fs[1].Run(ctx, x); err == nil { // the last step, in which the chief has no rows
			_, err = fs[0].Run(ctx, x)
		}
		if !errors.Is(err, distribute.ErrEnded) {
			t.Errorf("got %v, expected the end", err)
		}
		return nil
	})
}

// TestRefusals: invalid uses are errors that say what is wrong.
func TestRefusals(t *testing.T) {
	rc, err := runconfig.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	_, err = s.Restore(t.Context())
	expect(t, err, "no function yet")
	_, err = s.Variable("w")
	expect(t, err, "no function yet")
	_, err = s.Reduce(t.Context(), distribute.Sum, distribute.PerReplica{nil})
	expect(t, err, "expected a tensor, got nil")
	short := distribute.PerReplica{{DType: tensor.Float32, Shape: []int{3}}} // without its elements
	_, err = s.Reduce(t.Context(), distribute.Sum, short)
	expect(t, err, "0 bytes, expected 12")
	_, err = s.Gather(t.Context(), short)
	expect(t, err, "0 bytes, expected 12")
	_, err = s.Reduce(t.Context(), distribute.ReduceOp(2), distribute.PerReplica{tensor.Scalar(1.0)})
	expect(t, err, "operation 2: expected Sum or Mean")
	_, err = s.Metric("none", func() (metrics.Accumulator, error) { return nil, nil })
	expect(t, err, "expected an accumulator, got nil")
	expect(t, distribute.Serve(t.Context(), rc, nil), "an option is nil")
	train := func(c *distribute.Context) (distribute.Outputs, error) {
		loss := toyLoss(c)
		return distribute.Outputs{Loss: loss, Train: optimizers.SGD(0.1).Minimize(c, loss)}, nil
	}
	_, err = s.Function("eval", models.Eval, train)
	expect(t, err, `only functions of mode "train" train`)
	_, err = s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		return distribute.Outputs{Loss: toyLoss(c)}, nil
	})
	expect(t, err, "needs a loss and what minimises it")
	_, err = s.Function("other", "walk", train)
	expect(t, err, `mode "walk"`)
	f, err := s.Function("train", models.Train, train)
	expect(t, err, "")
	_, err = s.Function("train", models.Train, train)
	expect(t, err, "another one of that name")
	_, err = s.Function("shape", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		c.Variable("w", []int{7})
		return train(c)
	})
	expect(t, err, "is there twice", "variable w")
	_, err = s.Distribute(nil, 4, distribute.ShardRows)
	expect(t, err, "expected a data set")
	_, err = s.FromFunction(4, func(inputs.Context) (inputs.Dataset, error) { return nil, nil })
	expect(t, err, "returned no data set")
	x := tensor.New(tensor.Float32, 2, 3)
	_, err = f.Run(t.Context(), distribute.Batch{{"y": x}})
	expect(t, err, `argument "x" is missing`)
	_, err = f.Run(t.Context(), distribute.Batch{{"x": tensor.New(tensor.Float32, 2, 4)}})
	expect(t, err, "expected float32 of rows [3]")
	_, err = f.Run(t.Context(), distribute.Batch{{"x": tensor.New(tensor.Float32, 0, 3)}})
	expect(t, err, "without rows")
	_, err = f.Run(t.Context(), distribute.Batch{{"x": x}, {"x": x}})
	expect(t, err, "expected at most 1")
	res, err := f.Run(t.Context(), distribute.Batch{{"x": x}})
	expect(t, err, "")
	_, err = res.Value("z")
	expect(t, err, `no result "z"`)
	_, err = s.Function("late", models.Train, train)
	expect(t, err, "has begun")
	_, err = s.Save(t.Context())
	expect(t, err, "no model_dir")
}

// TestOneOptimizerForEachVariable: two functions that train one variable are refused.
func TestOneOptimizerForEachVariable(t *testing.T) {
	rc, err := runconfig.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	for _, name := range []string{"a", "b"} {
		if _, err := s.Function(name, models.Train, ganStep("critic/")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, err = s.Restore(t.Context())
		expect(t, err, "trained by the functions a and b")
	}
}

// TestInterruptedAlone: a batch that was read still makes a step, which is counted and saved.
func TestInterruptedAlone(t *testing.T) {
	for _, c := range []setup{setups[0], setups[3], setups[5]} {
		dir := t.TempDir()
		for pass, steps := range []int{2, 2} {
			c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
				s, f, count, err := counting(rc)
				if err != nil {
					return err
				}
				in, err := s.Distribute(countData(t), 4, distribute.ShardRows)
				if err == nil {
					_, err = s.Restore(ctx)
				}
				if err == nil {
					err = interrupt(ctx, f, in, steps)
				}
				if err == nil {
					err = expectCount(ctx, count, float64(8*(pass+1)))
				}
				if err == nil {
					_, err = s.Save(ctx)
				}
				return errors.Join(err, s.Close(ctx))
			})
		}
	}
}

// interrupt runs a function, and ends the context before the last step.
func interrupt(ctx context.Context, f *distribute.Function, in *distribute.Input, steps int) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	it, err := in.Iterate(ctx)
	if err != nil {
		return err
	}
	for n := range steps {
		batch, err := it.Next(ctx)
		if err != nil {
			return err
		}
		if n == steps-1 {
			cancel()
		}
		if _, err := f.Run(running, batch); (n == steps-1) != errors.Is(err, distribute.ErrInterrupted) {
			return fmt.Errorf("step %d: got %w", n, err)
		}
	}
	return nil
}

// TestClosed: calls after Close are errors, except another Close.
func TestClosed(t *testing.T) {
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	s, f, count, err := counting(rc)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Distribute(countData(t), 4, distribute.ShardRows)
	expect(t, err, "")
	expect(t, each(t.Context(), f, in), "")
	for range 2 {
		expect(t, s.Close(t.Context()), "")
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"Run":      func(ctx context.Context) error { _, err := f.Run(ctx, nil); return err },
		"Restore":  func(ctx context.Context) error { _, err := s.Restore(ctx); return err },
		"Save":     func(ctx context.Context) error { _, err := s.Save(ctx); return err },
		"Reduce":   func(ctx context.Context) error { _, err := s.Reduce(ctx, distribute.Sum, nil); return err },
		"Gather":   func(ctx context.Context) error { _, err := s.Gather(ctx, nil); return err },
		"Result":   func(ctx context.Context) error { _, err := count.Result(ctx); return err },
		"Iterate":  func(ctx context.Context) error { _, err := in.Iterate(ctx); return err },
		"Variable": func(context.Context) error { _, err := s.Variable("w"); return err },
	} {
		if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "the strategy is closed") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// expect checks that an error contains one of some texts; "" is no error.
func expect(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil && text == "" || err != nil && text != "" && strings.Contains(err.Error(), text) {
			return
		}
	}
	t.Errorf("got %v, expected one of %q", err, texts)
}
