package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestCoordinatorForeign: arguments that are nil or of another strategy are errors, and the
// Coordinator continues.
func TestCoordinatorForeign(t *testing.T) {
	other, err := distribute.New(mustConfig(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	add, err := other.Remote("add", addTensors)
	if err != nil {
		t.Fatal(err)
	}
	data, err := other.WorkerDataset("data", lineData)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := distribute.NewCoordinator(t.Context(), nil); err == nil {
		t.Error("a coordinator of no strategy")
	}
	coordinated(t, 1, 1, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
		for _, fn := range []*distribute.Remote{nil, {}, add} {
			if _, err := c.Schedule(ctx, fn); err == nil || errors.Is(err, distribute.ErrFunction) {
				t.Errorf("function %v: %v, expected to be refused", fn, err)
			}
		}
		for i, x := range []*distribute.PerWorker{nil, {}, c.CreatePerWorkerDataset(nil), c.CreatePerWorkerDataset(&distribute.WorkerDataset{}),
			c.CreatePerWorkerDataset(data), c.CreatePerWorkerValue(nil), c.CreatePerWorkerValue(&distribute.WorkerValue{})} {
			if _, err := c.Schedule(ctx, p.step, x); err == nil || !strings.Contains(err.Error(), "argument 0: expected what") {
				t.Errorf("data set %d: %v, expected to be refused", i, err)
			}
		}
		for i, v := range []*distribute.RemoteValue{nil, {}} {
			if _, err := c.Fetch(ctx, v); err == nil || v.Ready() {
				t.Errorf("value %d: %v, expected to be refused", i, err)
			}
		}
		v, err := c.Schedule(ctx, p.step, c.CreatePerWorkerDataset(p.data))
		if err != nil {
			return err
		}
		if _, err := c.Fetch(ctx, v); err != nil {
			return err
		}
		return c.Join(ctx)
	})
}

// TestCoordinatorOtherBinary: a worker whose program has other names says which it has. A panic of
// a function is an error with its place. The worker still runs functions after that.
func TestCoordinatorOtherBinary(t *testing.T) {
	job := setup{"coordinator", runconfig.Strategy{Name: "parameter_server"}, 2, 1}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newLineProgram(rc)
		if err != nil {
			return err
		}
		crash, err := p.Remote("crash", crashAsWanted)
		if err == nil && !rc.IsChief() {
			return errors.Join(p.Work(ctx), p.Close(ctx))
		}
		return errors.Join(err, p.coordinate(ctx, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
			return tryOtherNames(ctx, p, c, crash)
		}), p.Close(ctx))
	})
}

// tryOtherNames schedules functions that the worker does not have, and one that panics.
func tryOtherNames(ctx context.Context, p *lineProgram, c *distribute.Coordinator, crash *distribute.Remote) error {
	later, err := p.Remote("later", addTensors) // the worker has begun without it
	if err != nil {
		return err
	}
	more, err := p.WorkerDataset("more", func(inputs.Context) (inputs.Dataset, error) { return lineData(inputs.Context{}) })
	if err != nil {
		return err
	}
	for _, x := range []struct {
		fn   *distribute.Remote
		args []any
		want string
	}{
		{later, nil, `no function "later": expected one of ["add" "crash" "fail" "step"]`},
		{p.step, []any{c.CreatePerWorkerDataset(more)}, `no data set or value "more"`},
		{crash, nil, "panic: as the test wants at "},
		{crash, nil, "crashAsWanted (coordinator_robust_test.go:"},
	} {
		if _, err := c.Schedule(ctx, x.fn, x.args...); err != nil {
			return err
		}
		if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) || !strings.Contains(err.Error(), x.want) {
			return fmt.Errorf("%w, expected %s", err, x.want)
		}
	}
	v, err := c.Schedule(ctx, p.step, c.CreatePerWorkerDataset(p.data))
	if err != nil {
		return err
	}
	_, err = v.Fetch(ctx)
	return err
}

func crashAsWanted(context.Context, *distribute.RemoteCall) ([]*tensor.Tensor, error) {
	panic("as the test wants")
}
