package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// The subject memory_dense trains large matrices with momentum, including one checkpoint, in separate processes, and measures
// their peak memory. With two workers, the table shows the chief, and the other one as a further figure.
var denseCases = []string{"alone", "2-workers"}

const denseSteps = 50

// denseKinds are our workers for the cases.
var denseKinds = map[string]string{"alone": "dense_alone", "2-workers": "dense_ring"}

var dense = workload{classifier("mlp", map[string]any{"hidden_units": []int{8192, 8192, 4096}}, "momentum", map[string]any{"learning_rate": 0.001}),
	[]int{784}, 0, 10, 64, 4, "probabilities"}

func denseField(_ context.Context, s settings, _ string) (field, error) {
	argv, err := self("dense")
	return field{contenders: []contender{{name: ours, argv: argv}, s.peer("torch eager", "torch_dense.py")}}, err
}

// denseWorker starts a new process for each block, and forwards the command to it.
func denseWorker(l *link, _ []string) error {
	if err := l.send(reply{}); err != nil {
		return err
	}
	for {
		c, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		r, err := denseBlock(c)
		if err != nil {
			return err
		}
		if err := l.send(r); err != nil {
			return err
		}
	}
}

func denseBlock(c command) (reply, error) {
	kind := denseKinds[c.name]
	if kind == "" {
		return reply{}, fmt.Errorf("no case %q", c.name)
	}
	argv, err := self(kind, fmt.Sprint(c.steps))
	if err != nil {
		return reply{}, err
	}
	w, err := start(context.Background(), contender{name: c.name, argv: argv}, threads())
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = w.stop() }()
	return w.run(c.steps, "")
}

// denseTraining is a worker that trains once, alone or as the chief of two workers.
func denseTraining(workers int) func(*link, []string) error {
	return func(l *link, args []string) error {
		if err := l.send(reply{}); err != nil {
			return err
		}
		c, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		if workers == 1 {
			r, err := trainDense(c.steps, runconfig.Strategy{Name: "default"})
			if err != nil {
				return err
			}
			return l.send(r)
		}
		t, err := joinCluster(map[string]int{"worker": workers - 1}, denseTaskArgument, fmt.Sprint(c.steps))
		defer t.close()
		if err != nil {
			return err
		}
		r, err := trainDense(c.steps, ring)
		if err != nil {
			return err
		}
		other, err := t.all[0].read()
		if err != nil {
			return err
		}
		r.More = map[string]float64{"other worker, MB": peakMB("", 0, other)}
		return l.send(r)
	}
}

var ring = runconfig.Strategy{Name: "multi_worker_mirrored"}

// denseTaskArgument tells worker_task to act for this subject.
const denseTaskArgument = "dense"

// denseTask is the other worker.
func denseTask(l *link, steps int) error {
	if err := l.send(reply{}); err != nil {
		return err
	}
	r, err := trainDense(steps, ring)
	if err != nil {
		return err
	}
	return l.send(r)
}

// trainDense trains for that many steps and saves the last checkpoint.
func trainDense(steps int, s runconfig.Strategy) (reply, error) {
	dir, err := os.MkdirTemp("", "bench-dense-")
	if err != nil {
		return reply{}, err
	}
	defer os.RemoveAll(dir)
	rc, err := runconfig.New(runconfig.LogStepCountSteps(0), runconfig.SaveSummarySteps(0), runconfig.SaveCheckpointsSteps(int64(steps)), runconfig.TrainDistribute(s),
		runconfig.Session(runconfig.SessionConfig{IntraOpThreads: threads()}))
	if err != nil {
		return reply{}, err
	}
	fn, err := dense.model()
	if err != nil {
		return reply{}, err
	}
	e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithModelDir(dir), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return reply{}, err
	}
	defer e.Close()
	x, y := dense.draw(rand.New(rand.NewPCG(1, 2)))
	begun := time.Now()
	_, err = e.Train(context.Background(), dense.input(x, y, dense.batch), estimator.MaxSteps(int64(steps)))
	return reply{Seconds: time.Since(begun).Seconds(), PeakKB: peakKB()}, err
}
