package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/tensor"
)

// TestRulesInProcesses tests rules of docs/custom-loops.md that other tests do not, in one job of processes.
func TestRulesInProcesses(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		for _, rule := range []struct {
			name  string
			holds func(context.Context, *processProgram, *distribute.Coordinator) error
		}{
			{"an error in the function of a data set", p.dataSetFails},
			{"results outlive their workers", p.resultsOutlive},
			{"a function that is put back while an error is pending is cancelled", p.putBackIsCancelled},
			{"a second chief is refused", p.secondChief},
		} {
			if err := rule.holds(ctx, x, c); err != nil {
				return fmt.Errorf("%s: %w", rule.name, err)
			}
		}
		return nil
	})
}

// dataSetFails: functions that use it fail with its error, others run.
func (p *processes) dataSetFails(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
	broken := c.CreatePerWorkerDataset(x.broken)
	v, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(1000)))
	if err != nil {
		return err
	}
	if _, err := v.Fetch(ctx); err != nil {
		return err
	}
	if _, err := c.Schedule(ctx, x.step, broken); err != nil {
		return err
	}
	if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) || !strings.Contains(err.Error(), "/job:worker/task:") || !strings.Contains(err.Error(), errMade.Error()) {
		return fmt.Errorf("join: %w, expected the worker and its error", err)
	}
	return c.Join(ctx)
}

// resultsOutlive: results are on the chief once a function has ended.
func (p *processes) resultsOutlive(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
	var values []*distribute.RemoteValue
	for i := range 10 {
		v, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(2000+i)))
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	if err := c.Join(ctx); err != nil {
		return err
	}
	workers := []string{"worker-0", "worker-1"}
	for _, w := range workers {
		p.kill(w)
	}
	results, err := c.Fetch(ctx, values...)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r[0].Int(0) != int64(2000+i) {
			return fmt.Errorf("function %d has the result of %d", i, r[0].Int(0)-2000)
		}
	}
	for _, w := range workers {
		p.start(w)
	}
	return nil
}

// putBackIsCancelled: a function whose worker is lost after an error is cancelled, not run again, and its value says so.
func (p *processes) putBackIsCancelled(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
	v, err := c.Schedule(ctx, x.stubborn)
	if err == nil {
		err = awaitFile(ctx, filepath.Join(p.dir, "stubborn"))
	}
	if err != nil {
		return err
	}
	failing, err := c.Schedule(ctx, x.fail)
	if err != nil {
		return err
	}
	if _, err := failing.Fetch(ctx); !errors.Is(err, distribute.ErrFunction) { // it is pending from now on
		return fmt.Errorf("fetch: %w, expected ErrFunction", err)
	}
	if done, err := c.Done(); done || err != nil {
		return fmt.Errorf("done is %v, %w, while a function runs", done, err)
	}
	worker := "worker-0"
	if p.lines("stubborn")["1"] > 0 {
		worker = "worker-1"
	}
	p.kill(worker)
	if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) || !strings.Contains(err.Error(), errMade.Error()) {
		return fmt.Errorf("join: %w, expected the function's error", err)
	}
	if _, err := v.Fetch(ctx); !errors.Is(err, distribute.ErrCancelled) {
		return fmt.Errorf("fetch: %w, expected ErrCancelled", err)
	}
	p.start(worker)
	for i := range 10 {
		if _, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(3000+i))); err != nil {
			return err
		}
	}
	if err := c.Join(ctx); err != nil {
		return err
	}
	if runs := p.lines("stubborn"); runs["0"]+runs["1"] != 1 {
		return fmt.Errorf("the function ran %v times, expected once", runs)
	}
	return nil
}

// secondChief: a second process with the chief's role ends and says why; functions continue.
func (p *processes) secondChief(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
	p.start("chief-0")
	second := p.running["chief-0"]
	err := second.cmd.Wait()
	delete(p.running, "chief-0")
	if err == nil || !strings.Contains(second.out.String(), "two processes have the same role and index") {
		return fmt.Errorf("it ended with %w, expected to be refused:\n%s", err, second.out.String())
	}
	v, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(4000)))
	if err != nil {
		return err
	}
	_, err = v.Fetch(ctx)
	return err
}
