package estimator_test

import (
	"bytes"
	"context"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/runconfig"
)

// delayedData takes some time for each batch.
type delayedData struct {
	inputs.Dataset
	delay time.Duration
}

func (d delayedData) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return delayedPass{it, d.delay}, err
}

type delayedPass struct {
	inputs.Iterator
	delay time.Duration
}

func (p delayedPass) Next(ctx context.Context) (arrow.Record, error) {
	select {
	case <-time.After(p.delay):
	case <-ctx.Done():
	}
	return p.Iterator.Next(ctx)
}

// watchedLog calls a function when a line contains a text.
type watchedLog struct {
	mu    sync.Mutex
	text  string
	found func()
}

func (w *watchedLog) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Contains(b, []byte(w.text)) {
		w.found()
	}
	return len(b), nil
}

// TestClusterNamesStragglers: the chief's log names the worker whose input is slow, and
// the summaries have the time of each.
func TestClusterNamesStragglers(t *testing.T) {
	for _, s := range strategiesOfClusters {
		t.Run(s.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			dir := t.TempDir()
			log := &watchedLog{text: "stragglers=worker_1", found: stop}
			res := trainCluster(t, dir, 3, s.servers, s.s, func(rank int, m *member) {
				m.ctx, m.fn = ctx, equalModel(rule.SGD{}, 0.01, true)
				m.input = estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
					ds, err := equalData(ctx, ic)
					delay := time.Duration(0)
					if rank == 2 {
						delay = 200 * time.Millisecond
					}
					return delayedData{inputs.Pipe(ds, inputs.Repeat(0)), delay}, err
				})
				m.run = append(m.run, runconfig.LogStepCountSteps(2))
				if rank == 0 {
					m.log = slog.New(slog.NewTextHandler(log, nil))
				}
			})
			if code := estimator.ExitCode(res[0].err); code != estimator.ExitInterrupted {
				t.Fatalf("the chief named no straggler: %v", res[0].err)
			}
			scalars, err := summary.ReadScalars(dir)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, tags := range scalars {
				for tag, v := range tags {
					if strings.HasPrefix(tag, "workers/step_secs/") && v > 0 {
						seen[tag] = true
					}
				}
			}
			// With parameter servers worker 0 may not have reported its own time yet.
			if !seen["workers/step_secs/chief_0"] || !seen["workers/step_secs/worker_1"] {
				t.Errorf("summaries of %v", seen)
			}
		})
	}
}
