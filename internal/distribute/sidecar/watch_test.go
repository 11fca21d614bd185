package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// scripted is a training that advances as checkpoints are evaluated.
type scripted struct {
	t      *testing.T
	dir    string
	saver  *checkpoint.Saver
	steps  []int64 // the evaluated steps
	finals []bool
	again  []bool
	vanish bool // the next checkpoint is deleted before it is read
	then   func(step int64)
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	dir := t.TempDir()
	saver, err := checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &scripted{t: t, dir: dir, saver: saver}
}

func (x *scripted) save(step int64) string {
	x.t.Helper()
	prefix, err := x.saver.Save(x.t.Context(), checkpoint.Snapshot{Step: step, Tensors: map[string]*tensor.Tensor{"global_step": tensor.Scalar(step)}})
	if err != nil {
		x.t.Fatal(err)
	}
	return prefix
}

func (x *scripted) state(change func(*checkpoint.RunState)) {
	x.t.Helper()
	if err := checkpoint.UpdateRunState(atomicfile.OS{}, x.dir, change); err != nil {
		x.t.Fatal(err)
	}
}

func (x *scripted) finish(step int64, reason string) {
	x.state(func(s *checkpoint.RunState) { s.Finished = &checkpoint.Finished{GlobalStep: step, Reason: reason} })
}

func (x *scripted) Evaluate(ctx context.Context, final bool) (int64, error) {
	if x.vanish {
		x.vanish = false
		return 0, fmt.Errorf("restore: %w", checkpoint.ErrNone)
	}
	r, err := checkpoint.OpenLatest(ctx, x.dir)
	if err != nil {
		return 0, err
	}
	step := r.Step()
	x.steps, x.finals = append(x.steps, step), append(x.finals, final)
	if x.then != nil {
		x.then(step)
	}
	return step, r.Close()
}

func (x *scripted) Again(_ context.Context, _ string, final bool) error {
	x.again = append(x.again, final)
	return nil
}

func (x *scripted) watch(change func(*Watch)) (Outcome, error) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	w := Watch{Dir: x.dir, Evaluated: -1, Poll: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&w)
	}
	return w.Run(ctx, x)
}

// expect compares the evaluated steps; only the last evaluation is final.
func (x *scripted) expect(steps ...int64) {
	x.t.Helper()
	if !slices.Equal(x.steps, steps) {
		x.t.Errorf("evaluated %v, expected %v", x.steps, steps)
	}
}

// TestEachCheckpoint: each new checkpoint is evaluated once, until training has ended.
func TestEachCheckpoint(t *testing.T) {
	x := newScripted(t)
	x.save(1)
	x.then = func(step int64) {
		if step < 4 {
			x.save(step + 1)
		} else {
			x.finish(4, "closed")
		}
	}
	out, err := x.watch(nil)
	if err != nil || out != (Outcome{4, "closed"}) {
		t.Errorf("%+v, %v", out, err)
	}
	x.expect(1, 2, 3, 4)
	if !slices.Equal(x.again, []bool{true}) {
		t.Errorf("again %v, expected the end for the last", x.again)
	}
}

// TestLimits: a number of evaluations, a step, and an evaluation of an earlier run.
func TestLimits(t *testing.T) {
	next := func(x *scripted) { x.then = func(step int64) { x.save(step + 1) } }
	x := newScripted(t)
	x.save(1)
	next(x)
	if _, err := x.watch(func(w *Watch) { w.Most = 3 }); err != nil {
		t.Error(err)
	}
	x.expect(1, 2, 3)
	if !slices.Equal(x.finals, []bool{false, false, true}) {
		t.Errorf("finals %v", x.finals)
	}
	x = newScripted(t)
	x.save(1)
	next(x)
	if _, err := x.watch(func(w *Watch) { w.LastStep = 2 }); err != nil {
		t.Error(err)
	}
	x.expect(1, 2)
	x = newScripted(t)
	x.save(7)
	x.finish(7, "closed")
	out, err := x.watch(func(w *Watch) { w.Evaluated = 7 })
	if err != nil || out.Step != 7 {
		t.Errorf("%+v, %v", out, err)
	}
	x.expect()
}

// TestRaised: the end of an earlier training to fewer steps does not count.
func TestRaised(t *testing.T) {
	x := newScripted(t)
	x.save(3)
	x.finish(3, checkpoint.ReasonMaxSteps)
	x.then = func(step int64) {
		if step == 3 {
			x.save(6)
		}
	}
	if _, err := x.watch(func(w *Watch) { w.LastStep = 6 }); err != nil {
		t.Error(err)
	}
	x.expect(3, 6)
}

// TestDamagedAndDeleted: a checkpoint that was half written, or is deleted before it is read, is skipped.
func TestDamagedAndDeleted(t *testing.T) {
	x := newScripted(t)
	prefix := x.save(1)
	data := prefix + ".data-00000-of-00001"
	whole, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	looked := 0
	x.vanish = true
	x.then = func(step int64) { x.finish(step, "closed") }
	if _, err := x.watch(func(w *Watch) {
		w.Log = slog.New(&onRecord{func(slog.Record) { // the problem is logged once
			if looked++; looked == 1 {
				x.save(2)
			}
		}})
	}); err != nil {
		t.Error(err)
	}
	x.expect(2)
	if looked != 2 { // damaged, deleted
		t.Errorf("%d lines were logged, expected 2", looked)
	}
	x = newScripted(t)
	if err := os.WriteFile(x.save(1)+".index", []byte("no index"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.finish(1, "closed")
	if _, err := x.watch(nil); !errors.As(err, new(*checkpoint.UnloadableError)) {
		t.Errorf("%v, expected that nothing can be loaded when training is over", err)
	}
}

// onRecord calls a function with each log record.
type onRecord struct{ f func(slog.Record) }

func (h *onRecord) Enabled(context.Context, slog.Level) bool { return true }
func (h *onRecord) Handle(_ context.Context, r slog.Record) error {
	h.f(r)
	return nil
}
func (h *onRecord) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *onRecord) WithGroup(string) slog.Handler      { return h }

// TestEndsByItsContext: the end of ctx, or a failure of the chief, ends the watch.
func TestEndsByItsContext(t *testing.T) {
	x := newScripted(t)
	x.save(1)
	ctx, cancel := context.WithCancel(t.Context())
	x.then = func(int64) { cancel() }
	w := Watch{Dir: x.dir, Evaluated: -1, Throttle: time.Hour, Log: slog.New(slog.DiscardHandler)}
	if _, err := w.Run(ctx, x); !errors.Is(err, distribute.ErrInterrupted) {
		t.Errorf("%v, expected ErrInterrupted", err)
	}
	began := time.Now()
	x.state(func(s *checkpoint.RunState) {
		s.Failed = &checkpoint.Failed{Code: 2, Reason: "a mistake", At: began.Add(time.Second)}
	})
	ctx, stop := UntilFailure(t.Context(), x.dir, began)
	defer stop()
	x.then = nil
	_, err := w.Run(ctx, x)
	var end *distribute.EndError
	if err == nil || !errors.As(context.Cause(ctx), &end) || end.Code != 2 {
		t.Errorf("%v (%v), expected the chief's failure", err, context.Cause(ctx))
	}
}

// TestRecord: scalars and tensors become events, and the step is found again.
func TestRecord(t *testing.T) {
	dir := Dir(t.TempDir(), "night")
	if filepath.Base(dir) != "eval_night" || LastEvaluated(dir) != -1 {
		t.Errorf("%s: %d", dir, LastEvaluated(dir))
	}
	w := summary.NewFileWriter(dir, summary.Options{})
	table := tensor.New(tensor.Float64, 2, 2)
	if err := Record(w, 7, map[string]*tensor.Tensor{"loss": tensor.Scalar(0.5), "table": table}, "model.ckpt-7"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := summary.ReadScalars(dir)
	if err != nil || all[7]["loss"] != 0.5 || LastEvaluated(dir) != 7 {
		t.Errorf("%v, %v", all, err)
	}
}
