package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

const (
	numbered      = 103 // rows of an epoch, not a multiple of the batch size
	numberedBatch = 10
)

// numberedRows are numbered rows, shuffled in each epoch. The last batch of an epoch is short.
func numberedRows(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	x := make([]float32, numbered)
	for i := range x {
		x[i] = float32(i)
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("y", inputs.Label, x, 1))
	return inputs.Pipe(ds, inputs.Shuffle(numbered, ic.Seed), inputs.Batch(numberedBatch, false), inputs.Repeat(0)), err
}

// numberedModel shows the numbers of its rows.
func numberedModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := features.Dense("x")
	spec := &estimator.Spec{Predictions: estimator.Nodes{"row": x}}
	spec.Loss = losses.MeanSquaredError(mc, labels.Only(), layers.Dense(mc, x, 1, layers.Weights{}), losses.Options{})
	if mc.Mode() == models.Train {
		spec.TrainOp = optimizers.SGD(1e-6).Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// journal records the rows of each step by worker.
type journal struct {
	mu   sync.Mutex
	rows map[int64]map[int][]float32
}

// note returns the hook that writes the journal and, after each step, calls then with this worker's number of steps.
func (j *journal) note(rank int, then func(r hooks.Run, made int) error) hooks.Hook {
	return &noteRows{hookFuncs: hookFuncs{}, journal: j, rank: rank, then: then}
}

type noteRows struct {
	hookFuncs
	journal *journal
	rank    int
	made    int
	then    func(r hooks.Run, made int) error
}

func (h *noteRows) Begin(s hooks.Setup) error { return s.Fetch("row") }

func (h *noteRows) AfterRun(_ context.Context, r hooks.Run) error {
	v, err := r.Value("row")
	if err != nil {
		return err
	}
	h.journal.mu.Lock()
	if h.journal.rows[r.GlobalStep()] == nil {
		h.journal.rows[r.GlobalStep()] = map[int][]float32{}
	}
	h.journal.rows[r.GlobalStep()][h.rank] = slices.Clone(tensor.Values[float32](v))
	h.journal.mu.Unlock()
	h.made++
	return h.then(r, h.made)
}

// check compares the rows of steps 1 to last with the batches of one process.
func (j *journal) check(t *testing.T, last int64, perStep func(step int64) int) {
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
	for step := int64(1); step <= last; step++ {
		var want []float32
		for range perStep(step) {
			rec, err := it.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			batch, err := reader.Read(rec)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, tensor.Values[float32](batch[0].Tensor)...)
			rec.Release()
		}
		if got := j.of(step); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("step %d trained on rows %v (by worker %v), expected %v", step, got, j.rows[step], want)
		}
	}
}

// of returns the rows of a step, by rank.
func (j *journal) of(step int64) (all []float32) {
	for rank := range 8 {
		all = append(all, j.rows[step][rank]...)
	}
	return all
}

func sorted(x []float32) []float32 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}

// TestElasticRowsOnce: one worker comes late, another leaves and comes back, and each row of an epoch is in one step.
func TestElasticRowsOnce(t *testing.T) {
	for _, batch := range []string{runconfig.GlobalBatch, runconfig.PerWorkerBatch} {
		t.Run(batch, func(t *testing.T) { elasticRows(t, batch) })
	}
}

func elasticRows(t *testing.T, batch string) {
	t.Helper()
	j := &journal{rows: map[int64]map[int][]float32{}}
	begun, joined, left, back := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	once := map[chan struct{}]*sync.Once{begun: {}, joined: {}, left: {}, back: {}}
	tell := func(c chan struct{}) { once[c].Do(func() { close(c) }) }
	told := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	// If a worker fails right after a step, the others may not have made that step. If it leaves on a signal, all have.
	leaving, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	strategy := elastic(runconfig.Elastic{Min: 2, Batch: batch, WaitSecs: 0.01})
	after := 0
	res := trainCluster(t, t.TempDir(), 3, 0, strategy, func(rank int, m *member) {
		m.fn, m.input = estimator.ModelFunc(numberedModel), estimator.InputFunc(numberedRows)
		then := func(hooks.Run, int) error { return nil }
		switch rank {
		case 0:
			then = func(r hooks.Run, made int) error {
				if made == 5 {
					tell(begun)
				}
				if told(back) {
					after++
				}
				if after == 20 {
					r.RequestStop("enough")
				}
				return nil
			}
		case 1:
			then = func(_ hooks.Run, made int) error {
				if told(joined) {
					interrupt(errGone)
				}
				return nil
			}
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				_, err := e.Train(leaving, m.input, estimator.WithHooks(j.note(1, then)))
				if !errors.Is(err, estimator.ErrInterrupted) {
					return estimator.TrainResult{}, fmt.Errorf("expected an interruption, got %w", err)
				}
				tell(left)
				return e.Train(ctx, m.input, estimator.WithHooks(j.note(1, func(_ hooks.Run, made int) error {
					tell(back)
					return nil
				})))
			}
		case 2:
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				<-begun
				return e.Train(ctx, m.input, estimator.WithHooks(j.note(2, func(_ hooks.Run, made int) error {
					if made == 5 {
						tell(joined)
					}
					return nil
				})))
			}
		}
		m.opts = []estimator.TrainOption{estimator.WithHooks(j.note(rank, then))}
	})
	last := int64(math.MaxInt64)
	for i, r := range res {
		if r.err != nil {
			t.Fatalf("%s %d: %v", r.task, i, r.err)
		}
		last = min(last, r.GlobalStep)
	}
	sizes := map[int]int{}
	for step := range j.rows {
		sizes[len(j.rows[step])]++
	}
	if sizes[2] == 0 || sizes[3] < 10 {
		t.Errorf("steps by the number of their workers: %v", sizes)
	}
	j.check(t, last, func(step int64) int {
		if batch == runconfig.GlobalBatch {
			return 1
		}
		return len(j.rows[step])
	})
}
