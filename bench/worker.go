package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// work runs one of our worker processes: bench worker KIND ARGUMENTS.
func work(kind string, args []string) error {
	l := newLink(os.Stdin, os.Stdout)
	workers := map[string]func(*link, []string) error{
		"train": trainWorker, "predict": predictWorker, "matmul": matmulWorker, "ceilings": ceilingsWorker,
		"gorgonia": gorgoniaWorker, "growth": growthWorker, "profile": profileWorker,
		"ring": ringWorker("ring", connectCollective), "ring_tcp": ringWorker("ring_tcp", connectTCP),
		"ps": psLeader("ps_server", connectPS), "ps_server": psServerWorker,
		"ps_tcp": psLeader("ps_tcp_server", connectPSTCP), "ps_tcp_server": psTCPServer,
		"serve": serveWorker, "serving": servingWorker, "serving_batch": batchWorker, "serving_batch_load": batchLoadWorker,
		"serving_copies": copiesWorker, "quantized": quantizedWorker, "serving_overload": overloadWorker, "serve_fixed": serveFixedWorker,
		"jpeg": jpegWorker, "inputs": inputsWorker, "trees": treesWorker, "wide_deep": wideDeepWorker,
		"embedding": embeddingWorker, "ps_task": psTask, "functions": functionsWorker,
		"halves": halvesWorker, "dense": denseWorker, "dense_alone": denseTraining(1), "dense_ring": denseTraining(2),
		"cluster_runtime": runtimeWorker, "cluster_task": runtimeTaskWorker,
		"elastic": elasticWorker, "elastic_node": elasticNode,
		"overhead": overheadWorker, "worker_task": workerTask,
		"overhead_ps":   chiefWorker("ps", runconfig.Strategy{Name: "parameter_server"}),
		"overhead_ring": chiefWorker("worker", runconfig.Strategy{Name: "multi_worker_mirrored"}),
	}
	w, ok := workers[kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", kind)
	}
	return w(l, args)
}

// checkedSteps is the number of steps compared with the reference before anything is timed.
const checkedSteps = 4

// trainWorker trains WORKLOAD with the fixtures in DIR.
func trainWorker(l *link, args []string) error {
	w, err := lookUp(args[0])
	if err != nil {
		return err
	}
	checked := checkedSteps
	if len(args) > 2 && args[2] == "startup" {
		checked = 1
	}
	return train(context.Background(), w, args[1], &pacer{link: l, checked: checked})
}

// train trains a workload with the fixtures in dir until the hook stops it.
func train(ctx context.Context, w workload, dir string, p hooks.Hook, opts ...estimator.Option) error {
	g, err := readFixtures(dir)
	if err != nil {
		return err
	}
	x, err := g.get("x")
	if err != nil {
		return err
	}
	y, err := g.get("y")
	if err != nil {
		return err
	}
	model, err := os.MkdirTemp("", "bench-model-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(model)
	opts = append(opts, estimator.WithModelDir(model), estimator.WithWarmStart(estimator.WarmStart{From: filepath.Join(dir, "weights")}))
	e, err := w.estimator(opts...)
	if err != nil {
		return err
	}
	_, err = e.Train(ctx, w.input(x, y, w.batch), estimator.WithHooks(p))
	return err
}

// pacer is a hook that suspends training until the parent asks for steps. A
// step includes everything from the end of one to the end of the next: input, feeds,
// the program, other hooks.
type pacer struct {
	hooks.Base
	link    *link
	checked int
	losses  []float64
	left    int
	steps   int
	begun   time.Time
	mallocs uint64
}

// AfterRun ends the process's block of steps and waits for the next.
func (p *pacer) AfterRun(_ context.Context, r hooks.Run) error {
	if len(p.losses) < p.checked {
		v, err := r.Value("loss")
		if err != nil {
			return err
		}
		if p.losses = append(p.losses, v.Float(0)); len(p.losses) < p.checked {
			return nil
		}
		if err := p.link.send(reply{Values: map[string][]float64{"": p.losses}, Version: runtime.Version()}); err != nil {
			return err
		}
		return p.wait(r)
	}
	if p.left--; p.left > 0 {
		return nil
	}
	seconds := time.Since(p.begun).Seconds()
	allocs := float64(mallocs()-p.mallocs) / float64(p.steps)
	if err := p.link.send(reply{Seconds: seconds, Allocs: allocs, PeakKB: peakKB()}); err != nil {
		return err
	}
	return p.wait(r)
}

func (p *pacer) wait(r hooks.Run) error {
	c, ok, err := p.link.next()
	if err != nil {
		return err
	}
	if !ok {
		r.RequestStop("the parent has no more work")
		return nil
	}
	p.left, p.steps = c.steps, c.steps
	p.mallocs = mallocs()
	p.begun = time.Now()
	return nil
}

// mallocs is the number of allocations in this process so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// block is a hook that times a number of steps after the first ones.
type block struct {
	hooks.Base
	steps   int
	done    int
	begun   time.Time
	seconds float64
}

// AfterRun starts the clock after the first steps, and stops training at the end.
func (b *block) AfterRun(_ context.Context, r hooks.Run) error {
	switch b.done++; b.done {
	case checkedSteps:
		b.begun = time.Now()
	case checkedSteps + b.steps:
		b.seconds = time.Since(b.begun).Seconds()
		r.RequestStop("the block is done")
	}
	return nil
}
