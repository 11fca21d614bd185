package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/summary"
)

func TestStragglers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		secs []float64 // of workers 0, 1, ...
		want []string
	}{
		{nil, nil},
		{[]float64{3}, nil},
		{[]float64{1, 1, 1}, nil},
		{[]float64{1, 1.5}, nil}, // exactly at the limit
		{[]float64{1, 1.51}, []string{"1"}},
		{[]float64{2, 1}, []string{"0"}},
		{[]float64{1, 1, 1.5, 1.6}, []string{"3"}},
		{[]float64{1, 1, 4, 4}, []string{"2", "3"}}, // the lower median
		{[]float64{1, 4, 4}, nil},                   // most are slow
		{[]float64{1, 3, 1, 5, 1}, []string{"3", "1"}},
		{[]float64{nan, 1, 0, 9, inf, -1}, []string{"3"}},
		{[]float64{nan, 1, 0}, nil},
		{[]float64{nan, nan}, nil},
	} {
		var all []WorkerStep
		for i, s := range c.secs {
			all = append(all, WorkerStep{fmt.Sprint(i), s})
		}
		if got := stragglers(all); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, expected %v", c.secs, got, c.want)
		}
	}
}

// clusterRun is a run of workers with given times.
type clusterRun struct {
	Run
	events *summary.Memory
	step   int64
	asked  int
	all    []WorkerStep
	err    error
}

func (r *clusterRun) GlobalStep() int64   { return r.step }
func (r *clusterRun) Events() EventWriter { return r.events }
func (r *clusterRun) WorkerSteps(context.Context) ([]WorkerStep, error) {
	r.asked++
	return r.all, r.err
}

func TestWorkerSteps(t *testing.T) {
	var out bytes.Buffer
	h := NewWorkerSteps(slog.New(slog.NewTextHandler(&out, nil)), 10)
	r := &clusterRun{events: &summary.Memory{}, all: []WorkerStep{{"chief_0", 0.02}, {"worker_0", 0.0211}, {"worker_1", 0.09}}}
	until := func(last int64) {
		t.Helper()
		for ; r.step < last; r.step++ {
			if err := h.AfterRun(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(10)
	if r.asked > 0 || out.Len() > 0 {
		t.Errorf("asked %d times in the first 10 steps: %s", r.asked, &out)
	}
	until(20)
	if want := `workers="chief_0 0.02, worker_0 0.0211, worker_1 0.09" stragglers=worker_1`; r.asked != 1 || !strings.Contains(out.String(), want) {
		t.Errorf("asked %d times: %s\nexpected %s", r.asked, &out, want)
	}
	got := r.events.Scalars()[10]
	if len(got) != 3 || got["workers/step_secs/worker_1"] != float64(float32(0.09)) {
		t.Errorf("summaries %v", got)
	}
	out.Reset()
	r.all[2].Secs = 0.03 // 1.5 times the median is 0.0317
	until(30)
	if strings.Contains(out.String(), "straggler") || !strings.Contains(out.String(), "worker_1 0.03") {
		t.Error(out.String())
	}
	out.Reset()
	r.all = r.all[:1]
	until(40)
	r.all, r.err = nil, errors.New("lost")
	until(50)
	if out.Len() > 0 {
		t.Errorf("one worker, or none that answers: %s", &out)
	}
	r.err = nil
	for i := range 20 {
		r.all = append(r.all, WorkerStep{fmt.Sprintf("worker_%d", i), float64(1 + i)})
	}
	until(60)
	if s := out.String(); strings.Contains(s, "worker_3 ") || !strings.Contains(s, `workers="worker_19 20, `) || !strings.Contains(s, "worker_4 5 and 4 faster ones") {
		t.Errorf("of 20 workers: %s", s)
	}
}
