package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// loop is an in-memory loop: it runs hooks as an Estimator does.
type loop struct {
	mode    string
	chief   bool
	step    int64
	values  map[string]*tensor.Tensor
	fetched []string
	events  *summary.Memory
	reason  string
	saves   []int64
	tensors []hooks.SummaryTensor
	rows    []int // of the first steps; others have 10
}

func newLoop() *loop {
	return &loop{mode: "train", chief: true, events: &summary.Memory{}, values: map[string]*tensor.Tensor{
		"loss": tensor.Scalar(float32(1)), "learning_rate": tensor.Scalar(0.5)}}
}

func (l *loop) Fetch(name string) error {
	if l.values[name] == nil {
		return errors.New("no tensor " + name)
	}
	l.fetched = append(l.fetched, name)
	return nil
}
func (l *loop) Mode() string      { return l.mode }
func (l *loop) IsChief() bool     { return l.chief }
func (l *loop) GlobalStep() int64 { return l.step }
func (l *loop) Value(name string) (*tensor.Tensor, error) {
	if !slices.Contains(l.fetched, name) {
		return nil, errors.New("not fetched: " + name)
	}
	return l.values[name], nil
}
func (l *loop) BatchSize() int {
	if n := int(l.step); n < len(l.rows) {
		return l.rows[n]
	}
	return 10
}
func (l *loop) RequestStop(reason string) {
	if l.reason == "" {
		l.reason = reason
	}
}
func (l *loop) StopRequested() bool              { return l.reason != "" }
func (l *loop) Events() hooks.EventWriter        { return l.events }
func (l *loop) Summaries() []hooks.SummaryTensor { return l.tensors }
func (l *loop) SaveCheckpoint(context.Context) (string, error) {
	l.saves = append(l.saves, l.step)
	return "prefix", nil
}

// run makes at most n steps.
func (l *loop) run(t *testing.T, n int, hs ...hooks.Hook) error {
	t.Helper()
	ctx := context.Background()
	hs = hooks.Sort(hs)
	for _, h := range hs {
		if err := h.Begin(l); err != nil {
			return err
		}
	}
	for _, h := range hs {
		if err := h.AfterCreateSession(ctx, l); err != nil {
			return err
		}
	}
	for i := 0; i < n && l.reason == ""; i++ {
		for _, h := range hs {
			if err := h.BeforeRun(ctx, l); err != nil {
				return err
			}
		}
		l.step++
		for _, h := range hs {
			if err := h.AfterRun(ctx, l); err != nil {
				return err
			}
		}
	}
	for _, h := range hs {
		if err := h.End(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func TestStopAtStep(t *testing.T) {
	cases := []struct {
		name  string
		hook  hooks.Hook
		begin int64
		want  int64
	}{
		{"last step", hooks.NewStopAtStep(7), 0, 7},
		{"last step, resumed", hooks.NewStopAtStep(7), 5, 7},
		{"last step passed already", hooks.NewStopAtStep(7), 9, 9},
		{"more steps", hooks.NewStopAfterSteps(3), 5, 8},
	}
	for _, c := range cases {
		l := newLoop()
		l.step = c.begin
		if err := l.run(t, 100, c.hook); err != nil {
			t.Fatal(err)
		}
		if l.step != c.want || l.reason != "max_steps" {
			t.Errorf("%s: stopped at step %d for %q, expected %d for %q", c.name, l.step, l.reason, c.want, "max_steps")
		}
	}
}

func TestNaN(t *testing.T) {
	l := newLoop()
	l.values["loss"] = tensor.Scalar(float32(math.Inf(1)))
	if err := l.run(t, 2, hooks.NewNaN("loss")); err != nil {
		t.Errorf("an infinite loss is no NaN, got %v", err)
	}
	l.values["loss"] = tensor.Scalar(float32(math.NaN()))
	var nan *hooks.NaNLossError
	if err := l.run(t, 5, hooks.NewNaN("loss")); !errors.As(err, &nan) || nan.Step != 3 {
		t.Errorf("got %v, expected a NaNLossError of step 3", err)
	}
	lenient := hooks.NewNaN("loss")
	lenient.FailOnNaN = false
	if err := l.run(t, 5, lenient); err != nil || l.reason != "nan_loss" {
		t.Errorf("got %v and reason %q, expected a stop without an error", err, l.reason)
	}
}

// TestLoggingOfEvaluation: the global step does not change, so batches are counted.
func TestLoggingOfEvaluation(t *testing.T) {
	for _, step := range []int64{6, 7} {
		var b bytes.Buffer
		l := newLoop()
		l.mode, l.step = "eval", step
		h := hooks.NewLogging(slog.New(slog.NewTextHandler(&b, nil)), 3, "loss")
		if err := h.Begin(l); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			if err := h.AfterRun(context.Background(), l); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(b.String(), "loss="); n != 3 {
			t.Errorf("step %d: %d lines for 7 batches, expected those of batches 0, 3 and 6", step, n)
		}
	}
	if err := newLoop().run(t, 1, hooks.NewLogging(slog.Default(), 0, "loss")); err == nil {
		t.Error("every 0 steps: expected an error")
	}
}

func TestLogging(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	if err := newLoop().run(t, 7, hooks.NewLogging(log, 3, "loss")); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		_, msg, _ := strings.Cut(line, `msg="`)
		steps = append(steps, strings.Fields(msg)[0])
		if !strings.Contains(line, "loss=1") || !strings.Contains(line, "learning_rate=0.5") {
			t.Errorf("line %q: expected loss and learning rate", line)
		}
	}
	if want := []string{"step=1", "step=3", "step=6"}; !slices.Equal(steps, want) {
		t.Errorf("logged %v, expected %v", steps, want)
	}
}

func TestSummarySaver(t *testing.T) {
	l := newLoop()
	h, err := tensor.FromSlice([]float32{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	l.values["h:0"] = h
	l.tensors = []hooks.SummaryTensor{{Tag: "dense/h", Kind: models.HistogramSummary, Fetch: "h:0"}}
	if err := l.run(t, 7, hooks.NewSummarySaver(3)); err != nil {
		t.Fatal(err)
	}
	var steps []int64
	for _, e := range l.events.Events() {
		steps = append(steps, e.Step)
		var tags []string
		for _, v := range e.GetSummary().Value {
			tags = append(tags, v.Tag)
		}
		if want := []string{"loss", "learning_rate", "dense/h"}; !slices.Equal(tags, want) {
			t.Errorf("step %d has tags %v, expected %v", e.Step, tags, want)
		}
	}
	if want := []int64{1, 4, 7}; !slices.Equal(steps, want) {
		t.Errorf("summaries at steps %v, expected %v", steps, want)
	}
}

// listener records its calls.
type listener struct {
	calls []string
	stop  bool
}

func (l *listener) Begin() error { l.calls = append(l.calls, "begin"); return nil }
func (l *listener) BeforeSave(context.Context, int64) error {
	l.calls = append(l.calls, "before")
	return nil
}
func (l *listener) AfterSave(_ context.Context, _ string, step int64) (bool, error) {
	l.calls = append(l.calls, "after")
	return l.stop && step > 0, nil
}
func (l *listener) End(context.Context, int64) error { l.calls = append(l.calls, "end"); return nil }

func TestCheckpointSaver(t *testing.T) {
	l, ls := newLoop(), &listener{}
	saver, err := hooks.NewCheckpointSaver(hooks.Every{Steps: 3}, ls)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.run(t, 7, saver); err != nil {
		t.Fatal(err)
	}
	if want := []int64{0, 3, 6, 7}; !slices.Equal(l.saves, want) {
		t.Errorf("saved at steps %v, expected %v", l.saves, want)
	}
	if want := "begin before after before after before after before after end"; strings.Join(ls.calls, " ") != want {
		t.Errorf("the listener was calls %v, expected %s", ls.calls, want)
	}
	l, ls = newLoop(), &listener{stop: true}
	if saver, err = hooks.NewCheckpointSaver(hooks.Every{Steps: 3}, ls); err != nil {
		t.Fatal(err)
	}
	if err := l.run(t, 7, saver); err != nil || l.step != 3 {
		t.Errorf("stopped at step %d (%v), expected the listener to stop it at 3", l.step, err)
	}
	if _, err := hooks.NewCheckpointSaver(hooks.Every{Steps: 3, Secs: 4}); err == nil {
		t.Error("both steps and seconds: expected an error")
	}
}

// order appends its name when a step has been made.
type order struct {
	hooks.Base
	name     string
	priority int
	log      *[]string
}

func (o order) Priority() int { return o.priority }
func (o order) AfterRun(context.Context, hooks.Run) error {
	*o.log = append(*o.log, o.name)
	return nil
}

func TestPriority(t *testing.T) {
	var log []string
	hs := []hooks.Hook{order{name: "save", priority: hooks.PrioritySave, log: &log}, order{name: "b", log: &log},
		order{name: "guard", priority: hooks.PriorityGuard, log: &log}, order{name: "c", log: &log}}
	if err := newLoop().run(t, 1, hs...); err != nil {
		t.Fatal(err)
	}
	if want := []string{"guard", "b", "c", "save"}; !slices.Equal(log, want) {
		t.Errorf("ran in order %v, expected %v", log, want)
	}
}

func writeEvals(t *testing.T, dir string, values ...float64) {
	t.Helper()
	w := summary.NewFileWriter(dir, summary.Options{})
	for i, v := range values {
		if err := w.Scalar(int64(10*(i+1)), "accuracy", v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEarlyStopping(t *testing.T) {
	dir := t.TempDir()
	writeEvals(t, dir, 0.5, 0.7, 0.6, 0.65)
	watch := hooks.Watch{EvalDir: dir, Metric: "accuracy", HigherIsBetter: true, Every: hooks.Every{Steps: 1}}
	late := watch
	late.MinSteps = 30
	lower := watch
	lower.HigherIsBetter = false
	missing := watch
	missing.Metric = "f1"
	cases := []struct {
		name string
		make func() (*hooks.EarlyStopping, error)
		stop bool
	}{
		{"above 0.69", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfBetter(watch, 0.69) }, true},
		{"above 0.7 is strict", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfBetter(watch, 0.7) }, false},
		{"below 0.55", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfBetter(lower, 0.55) }, true},
		{"above 0.69 after step 30", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfBetter(late, 0.69) }, false},
		{"no improvement for 20 steps", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfNoImprovement(watch, 20) }, true},
		{"no improvement for 21 steps", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfNoImprovement(watch, 21) }, false},
		{"no decrease for 30 steps", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfNoImprovement(lower, 30) }, true},
		{"a metric that nobody wrote", func() (*hooks.EarlyStopping, error) { return hooks.NewStopIfNoImprovement(missing, 1) }, false},
	}
	for _, c := range cases {
		h, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		l := newLoop()
		if err := l.run(t, 3, h); err != nil {
			t.Fatal(err)
		}
		if (l.reason != "") != c.stop {
			t.Errorf("%s: stop reason %q, expected a stop: %v", c.name, l.reason, c.stop)
		}
	}
	if _, err := hooks.NewStopIfNoImprovement(watch, 0); err == nil {
		t.Error("0 steps without improvement: expected an error")
	}
}

func TestTimeLimitCountsEarlierRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, checkpoint.RunStateFile), []byte(`{"train_seconds": 3600}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[time.Duration]string{time.Hour: "time_limit", 2 * time.Hour: ""} {
		h, err := hooks.NewTimeLimit(dir, limit)
		if err != nil {
			t.Fatal(err)
		}
		l := newLoop()
		if err := l.run(t, 2, h); err != nil {
			t.Fatal(err)
		}
		if l.reason != want {
			t.Errorf("limit %v: stop reason %q, expected %q", limit, l.reason, want)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, checkpoint.RunStateFile))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		TrainSeconds float64 `json:"train_seconds"`
	}
	if err := json.Unmarshal(b, &state); err != nil || state.TrainSeconds < 3600 {
		t.Errorf("state.json is %s (%v), expected at least 3600 seconds", b, err)
	}
}

func TestFinalOps(t *testing.T) {
	h := hooks.NewFinalOps("loss")
	if err := newLoop().run(t, 2, h); err != nil {
		t.Fatal(err)
	}
	if v := h.Values()["loss"]; v == nil || v.Float(0) != 1 {
		t.Errorf("final loss %v, expected 1", v)
	}
	if err := newLoop().run(t, 2, hooks.NewFinalOps("nothing")); err == nil {
		t.Error("an unknown tensor: expected an error")
	}
	l := newLoop()
	l.rows = []int{10, 10, 0} // the last step of tasks in lock step has no data
	if err := l.run(t, 2, h); err != nil {
		t.Fatal(err)
	}
	if v := h.Values()["loss"]; v == nil || v.Float(0) != 1 {
		t.Errorf("final loss %v in lock step, expected 1", v)
	}
	if err := newLoop().run(t, 0, h); err != nil || len(h.Values()) != 0 {
		t.Errorf("without a step: %v, %v, expected no values", h.Values(), err)
	}
}

func TestProfilerWritesATrace(t *testing.T) {
	dir := t.TempDir()
	h, err := hooks.NewProfiler(dir, hooks.Every{Steps: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := newLoop().run(t, 5, h); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "timeline-*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got %v, expected the profiles of steps 3 and 5", files)
	}
	b, err := os.ReadFile(filepath.Join(dir, "timeline-3.json"))
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name string `json:"name"`
			Ph   string `json:"ph"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &trace); err != nil || len(trace.TraceEvents) < 2 || trace.TraceEvents[0].Ph != "X" {
		t.Errorf("trace %s (%v): expected complete events", b, err)
	}
}

func TestStopAtCheckpointStepWaitsForTheChief(t *testing.T) {
	dir := t.TempDir()
	saver, err := checkpoint.NewSaver(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := saver.Save(context.Background(), checkpoint.Snapshot{Step: 3, Tensors: map[string]*tensor.Tensor{"v": tensor.Scalar(float32(1))}}); err != nil {
		t.Fatal(err)
	}
	l := newLoop()
	l.chief = false
	if err := l.run(t, 9, hooks.NewStopAtCheckpointStep(dir, 3, time.Millisecond)); err != nil || l.step != 3 {
		t.Errorf("stopped at step %d (%v), expected 3", l.step, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	l.step = 5
	h := hooks.NewStopAtCheckpointStep(dir, 5, time.Millisecond)
	if err := h.Begin(l); err != nil {
		t.Fatal(err)
	}
	if err := h.AfterRun(ctx, l); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v, expected the context's cause while waiting for a checkpoint that never comes", err)
	}
	if err := l.run(t, 1, hooks.NewGlobalStepWaiter(dir, 3, time.Millisecond)); err != nil {
		t.Error(err)
	}
}

func TestTimer(t *testing.T) {
	timer := hooks.NewTimer(hooks.Every{Steps: 5})
	var at []int64
	for step := int64(3); step < 20; step++ {
		if timer.ShouldTrigger(step) {
			timer.Trigger(step)
			at = append(at, step)
		}
	}
	if want := []int64{3, 8, 13, 18}; !slices.Equal(at, want) {
		t.Errorf("triggered at %v, expected %v", at, want)
	}
	if never := hooks.NewTimer(hooks.Every{}); never.ShouldTrigger(1) {
		t.Error("the zero interval triggered")
	}
	if err := (hooks.Every{Steps: -1}).Validate(); err == nil {
		t.Error("negative steps: expected an error")
	}
}
