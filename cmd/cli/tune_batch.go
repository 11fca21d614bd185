package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// batchTrial is the result for one batch size.
type batchTrial struct {
	Size      int     `json:"batch_size"`
	PerSecond float64 `json:"examples_per_second"`
}

// batchSummary is the result of tune batch as JSON.
type batchSummary struct {
	Suggestion int          `json:"suggestion"`
	Trials     []batchTrial `json:"trials"`
	Stopped    string       `json:"stopped"` // why no larger size was tried
}

const (
	worthwhile  = 1.05                   // required speed-up in examples per second over the best smaller size
	leastTiming = 500 * time.Millisecond // shorter measurements are not reliable
	mostTimed   = 1 << 40                // steps: the time limit ends them
)

// speedWatcher is a hook that times steps.
type speedWatcher struct {
	hooks.Base
	warm, steps int64
	now         func() time.Time
	began       time.Time
	examples    int
	took        time.Duration
	least       time.Duration // how long steps are timed
}

// Begin requests the loss, which is available when a step has ended.
func (h *speedWatcher) Begin(s hooks.Setup) error { return s.Fetch("loss") }

// AfterRun counts steps and examples.
func (h *speedWatcher) AfterRun(_ context.Context, r hooks.Run) error {
	if _, err := r.Value("loss"); err != nil {
		return err
	}
	if h.steps++; h.steps == h.warm {
		h.began = h.now()
	} else if h.steps > h.warm {
		h.examples += r.BatchSize()
		if h.took = h.now().Sub(h.began); h.steps >= 2*h.warm && h.took >= h.least {
			r.RequestStop("timed")
		}
	}
	return nil
}

func (f batchFlags) check(cfg *config.Config) error {
	switch {
	case f.low < 1 || f.low > f.high || f.high > 1<<24:
		return fmt.Errorf("--min and --max: expected 1 to %d, the first not above the second, got %d and %d", 1<<24, f.low, f.high)
	case f.steps < 1 || f.steps > 1<<20:
		return fmt.Errorf("--steps: expected 1 to %d, got %d", 1<<20, f.steps)
	case len(cfg.Train.Input.Buckets.BatchSizes) > 0:
		return errors.New("train.input.buckets has sizes of its own: tune batch is for batch_size")
	}
	return nil
}

func (a *app) tuneBatch(ctx context.Context, cfg *config.Config, f batchFlags) error {
	if err := f.check(cfg); err != nil {
		return usage(err)
	}
	if err := checkFolder("--html", f.html); err != nil {
		return err
	}
	own, err := alone(cfg)
	if err != nil {
		return err
	}
	var sum batchSummary
	best := 0.0
	for size, worse := f.low, 0; sum.Stopped == ""; size *= 2 {
		if size > f.high {
			sum.Stopped = fmt.Sprintf("--max %d", f.high)
			break
		}
		before := memoryInUse()
		t, err := a.timeBatch(ctx, own, size, f.steps)
		if err != nil {
			return err
		}
		sum.Trials = append(sum.Trials, t)
		a.log.Info("batch", "size", size, "examples/sec", int64(t.PerSecond))
		if t.PerSecond > worthwhile*best {
			best, sum.Suggestion, worse = t.PerSecond, size, 0
		} else if worse++; worse == 2 {
			sum.Stopped = "larger batches make no more examples per second"
		}
		grown := 2 * (memoryInUse() - before)
		if free, known := hostmemory.Available(); known && grown > free {
			sum.Stopped = fmt.Sprintf("batches of %d would not fit into memory", 2*size)
		}
	}
	if f.html != "" {
		if err := sum.writePage(f.html, cfg.Model.Name); err != nil {
			return err
		}
	}
	return a.printBatch(sum, f)
}

func (s batchSummary) writePage(path, model string) error {
	p := report.Plots{Title: "Batch sizes of " + model, Note: fmt.Sprintf("train.input.batch_size: %d. No larger size was tried: %s", s.Suggestion, s.Stopped)}
	speed := report.Points{Name: "examples per second"}
	for _, t := range s.Trials {
		speed.XY = append(speed.XY, [2]float64{float64(t.Size), t.PerSecond})
	}
	if err := p.AddLines("Examples per second by batch size", "batch size", true, speed); err != nil {
		return err
	}
	return writePlots(path, p)
}

// memoryInUse is the memory that the process holds, in bytes.
func memoryInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased) //nolint:gosec // bytes of this machine
}

func (a *app) timeBatch(ctx context.Context, cfg config.Config, size int, steps int64) (batchTrial, error) {
	cfg.Train.Input.BatchSize = size
	w := &speedWatcher{warm: steps, now: time.Now, least: leastTiming}
	if err := a.trainBriefly(ctx, cfg, mostTimed, w); err != nil {
		return batchTrial{}, fmt.Errorf("batches of %d: %w", size, err)
	}
	if err := ctx.Err(); err != nil {
		return batchTrial{}, err
	}
	if w.examples == 0 || w.took <= 0 {
		return batchTrial{}, fmt.Errorf("batches of %d: training ended after %d steps, expected %d: are there enough rows?", size, w.steps, 2*steps)
	}
	return batchTrial{Size: size, PerSecond: float64(w.examples) / w.took.Seconds()}, nil
}

func (a *app) printBatch(s batchSummary, f batchFlags) error {
	if f.json {
		return a.printJSON(s)
	}
	t := newTextTable("batch size", "examples/sec")
	t.right(0, 1)
	for _, x := range s.Trials {
		t.add(strconv.Itoa(x.Size), strconv.FormatFloat(x.PerSecond, 'f', 0, 64))
	}
	_, err := io.WriteString(a.stdout, t.String()+fmt.Sprintf("stopped=%s\ntrain.input.batch_size=%d\n", s.Stopped, s.Suggestion))
	return err
}
