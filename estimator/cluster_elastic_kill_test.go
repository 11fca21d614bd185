package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// event happens once.
type event struct {
	once sync.Once
	c    chan struct{}
}

func newEvent() *event { return &event{c: make(chan struct{})} }

func (e *event) set() { e.once.Do(func() { close(e.c) }) }

func (e *event) isSet() bool {
	select {
	case <-e.c:
		return true
	default:
		return false
	}
}

// afterEach is a hook that calls then after each step with the number of steps that this worker made.
func afterEach(then func(r hooks.Run, made int) error) hooks.Hook {
	made := 0
	return hookFuncs{after: func(r hooks.Run) error {
		made++
		return then(r, made)
	}}
}

// numberedBatches returns the rows of the first batches of one process.
func numberedBatches(t *testing.T, n int64) (batches [][]float32) {
	t.Helper()
	ds, err := numberedRows(t.Context(), inputs.Context{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	reader := inputs.NewTensorReader(ds.Schema())
	for range n {
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		batch, err := reader.Read(rec)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, append([]float32{}, tensor.Values[float32](batch[0].Tensor)...))
		rec.Release()
	}
	return batches
}

// elasticJob trains with three workers; one is enough. The losses of all steps must equal the losses computed by hand for
// the batches of one process: then each row counted once, in its step. If a worker is killed right after a step, the
// others may not have finished it, and make it again.
func elasticJob(t *testing.T, ended []int, adjust func(rank int, m *member)) {
	t.Helper()
	var all watched
	res := trainCluster(t, t.TempDir(), 3, 0, elastic(runconfig.Elastic{Min: 1, WaitSecs: 0.01}), func(rank int, m *member) {
		m.fn, m.input = estimator.ModelFunc(fallingLine), estimator.InputFunc(numberedRows)
		m.run = append(m.run, patient)
		adjust(rank, m)
		m.opts = append([]estimator.TrainOption{estimator.WithHooks(all.hook())}, m.opts...)
	})
	last := int64(math.MaxInt64)
	for _, i := range ended {
		if res[i].err != nil {
			t.Fatalf("%s %d: %v", res[i].task, i, res[i].err)
		}
		last = min(last, res[i].GlobalStep)
	}
	factors := make([]float64, last)
	for i := range factors {
		factors[i] = 1
	}
	for i, want := range fallingLosses(numberedBatches(t, last), factors) {
		if got := all.losses[int64(i+1)]; math.Abs(got-want) > 1e-5*want {
			t.Errorf("step %d: loss %v, of its batch by hand %v", i+1, got, want)
		}
	}
}

// TestElasticTwoKilled: 1 worker, 3, 1 after two were killed at once, and 3 again.
func TestElasticTwoKilled(t *testing.T) {
	begun, now := newEvent(), newEvent()
	joined, back := []*event{nil, newEvent(), newEvent()}, []*event{nil, newEvent(), newEvent()}
	elasticJob(t, []int{0, 1, 2}, func(rank int, m *member) {
		if rank == 0 {
			m.opts = []estimator.TrainOption{estimator.WithHooks(afterEach(func(r hooks.Run, made int) error {
				if made == 5 {
					begun.set()
				}
				if joined[1].isSet() && joined[2].isSet() {
					now.set()
				}
				if back[1].isSet() && back[2].isSet() {
					r.RequestStop("enough")
				}
				return nil
			}))}
			return
		}
		first := afterEach(func(hooks.Run, int) error {
			joined[rank].set()
			if now.isSet() {
				return errKilled
			}
			return nil
		})
		second := afterEach(func(_ hooks.Run, made int) error {
			if made == 3 {
				back[rank].set()
			}
			return nil
		})
		m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
			<-begun.c
			if _, err := e.Train(ctx, m.input, append(m.opts, estimator.WithHooks(first))...); !errors.Is(err, errKilled) {
				return estimator.TrainResult{}, fmt.Errorf("expected to be killed, got %w", err)
			}
			return e.Train(ctx, m.input, append(m.opts, estimator.WithHooks(second))...)
		}
	})
}

// TestElasticChiefKilledWhileOneJoins: the third worker takes the chief's place, and the worker that was about to join joins it.
func TestElasticChiefKilledWhileOneJoins(t *testing.T) {
	begun, arrives, joined := newEvent(), newEvent(), newEvent()
	elasticJob(t, []int{1, 2}, func(rank int, m *member) {
		then := func(_ hooks.Run, made int) error { // of the chief
			if arrives.isSet() {
				return errKilled
			}
			return nil
		}
		switch rank {
		case 1:
			then = func(r hooks.Run, made int) error {
				if made == 5 {
					begun.set()
				}
				if joined.isSet() {
					r.RequestStop("enough")
				}
				return nil
			}
		case 2:
			then = func(_ hooks.Run, made int) error {
				if made == 3 {
					joined.set()
				}
				return nil
			}
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				<-begun.c
				return e.Train(ctx, m.input, append(m.opts, estimator.WithHooks(arriving{then: arrives.set}))...)
			}
		}
		m.opts = []estimator.TrainOption{estimator.WithHooks(afterEach(then))}
	})
}

// TestElasticBelowMin: too few workers wait for the others to come back, then end with an error that says so.
func TestElasticBelowMin(t *testing.T) {
	res := trainCluster(t, t.TempDir(), 2, 0, elastic(runconfig.Elastic{Min: 2}), func(rank int, m *member) {
		if rank == 1 {
			m.opts = append(m.opts, estimator.WithHooks(goes(5)))
		}
	})
	if err := res[0].err; estimator.ExitCode(err) != 138 || !errors.Is(err, estimator.ErrPeerLost) {
		t.Errorf("the chief ended with %v", err)
	} else if want := "not even 2 of 2 workers came together within 2s, [/job:worker/task:0] did not come"; !strings.Contains(err.Error(), want) {
		t.Errorf("the chief ended with %v, expected %s", err, want)
	}
}

// TestElasticGeneratorWarns: workers that read a generator warn what it must do.
func TestElasticGeneratorWarns(t *testing.T) {
	var log bytes.Buffer
	input := func(context.Context, inputs.Context) (inputs.Dataset, error) {
		rows := func(context.Context) iter.Seq2[inputs.Row, error] {
			return func(yield func(inputs.Row, error) bool) {
				for i := 0; i < 40 && yield(inputs.Row{"x": float32(i), "y": float32(i)}, nil); i++ {
				}
			}
		}
		ds, err := inputs.Generator(rows, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "x", DType: "float32", Shape: []int{1}},
			{Name: "y", DType: "float32", Shape: []int{1}, Role: "label"}}})
		return inputs.Pipe(ds, inputs.Batch(numberedBatch, false)), err
	}
	res := trainCluster(t, t.TempDir(), 2, 0, elastic(runconfig.Elastic{Min: 1}), func(rank int, m *member) {
		m.fn, m.input = estimator.ModelFunc(fallingLine), estimator.InputFunc(input)
		if rank == 0 {
			m.log = slog.New(slog.NewTextHandler(&log, nil))
		}
	})
	if res[0].err != nil || res[0].GlobalStep != 4 || !strings.Contains(log.String(), "the rows come from a generator") {
		t.Errorf("%+v, log:\n%s", res[0], log.String())
	}
}
