package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The subject functions schedules functions on three workers, with variables on two
// parameter servers: one that does nothing, and the training step of TensorFlow's tutorial on
// parameter servers.
var functionCases = []string{"empty", "tutorial"}

const functionWorkers, functionServers = 3, 2

// The tutorial's model: an embedding of three out of nine features, a dense layer.
const (
	tutorialRows  = 9
	tutorialWidth = 20
	tutorialIDs   = 3
	tutorialBatch = 64
	tutorialRate  = 0.1
)

// functionsTaskArgument tells ps_task and worker_task to act for this subject.
const functionsTaskArgument = "functions"

func functionsField(ctx context.Context, s settings, dir string) (field, error) {
	g := tutorialFixtures()
	if err := g.write(ctx, dir); err != nil {
		return field{}, err
	}
	argv, err := self("functions")
	return field{reference: map[string][]float64{"tutorial": tutorialReference(g)}, tolerance: 1e-3,
		contenders: []contender{{name: ours, argv: argv}, s.peer("tf ClusterCoordinator", "functions.py", dir)}}, err
}

// tutorialFixtures are one batch, the same for every worker, and initial weights.
func tutorialFixtures() *fixtures {
	r := rand.New(rand.NewPCG(1, 2))
	table, kernel := tensor.New(tensor.Float32, tutorialRows, tutorialWidth), tensor.New(tensor.Float32, tutorialWidth, 1)
	for _, t := range []*tensor.Tensor{table, kernel} {
		for i := range tensor.Values[float32](t) {
			tensor.Values[float32](t)[i] = r.Float32() - 0.5
		}
	}
	x, y := tensor.New(tensor.Int64, tutorialBatch, tutorialIDs), tensor.New(tensor.Int64, tutorialBatch, 1)
	for i := range tutorialBatch {
		ids := r.Perm(tutorialRows - 1)[:tutorialIDs] // id 0 is for unknown features
		for k, id := range ids {
			tensor.Values[int64](x)[i*tutorialIDs+k] = int64(id + 1)
			if id == 0 { // "avenger"
				tensor.Values[int64](y)[i] = 1
			}
		}
	}
	g := &fixtures{}
	g.add("table", false, table)
	g.add("kernel", false, kernel)
	g.add("x", true, x)
	g.add("y", true, y)
	return g
}

// tutorialReference returns the losses of the first steps in float64, with Keras' RMSprop.
func tutorialReference(g *fixtures) []float64 {
	m := &tutorialModel{}
	for i, v := range tensor.Values[float32](g.values[0]) {
		m.table[i] = float64(v)
	}
	for i, v := range tensor.Values[float32](g.values[1]) {
		m.top[i] = float64(v)
	}
	var losses []float64
	for range checkedSteps {
		losses = append(losses, m.step(tensor.Values[int64](g.values[2]), tensor.Values[int64](g.values[3])))
	}
	return losses
}

type tutorialModel struct {
	table, tableSquares [tutorialRows * tutorialWidth]float64
	top, topSquares     [tutorialWidth + 1]float64 // kernel and bias
}

func (m *tutorialModel) step(ids, labels []int64) (loss float64) {
	var dTable [tutorialRows * tutorialWidth]float64
	var dTop [tutorialWidth + 1]float64
	for i, label := range labels {
		row := ids[i*tutorialIDs : (i+1)*tutorialIDs]
		logit := m.top[tutorialWidth]
		var mean [tutorialWidth]float64
		for k := range mean {
			for _, id := range row {
				mean[k] += m.table[int(id)*tutorialWidth+k] / tutorialIDs
			}
			logit += mean[k] * m.top[k]
		}
		loss += (math.Log1p(math.Exp(-math.Abs(logit))) + max(logit, 0) - logit*float64(label)) / tutorialBatch
		d := (1/(1+math.Exp(-logit)) - float64(label)) / tutorialBatch
		dTop[tutorialWidth] += d
		for k := range mean {
			dTop[k] += d * mean[k]
			for _, id := range row {
				dTable[int(id)*tutorialWidth+k] += d * m.top[k] / tutorialIDs
			}
		}
	}
	rmsprop(m.table[:], m.tableSquares[:], dTable[:])
	rmsprop(m.top[:], m.topSquares[:], dTop[:])
	return loss
}

func rmsprop(w, squares, gradient []float64) {
	for i, g := range gradient {
		squares[i] = 0.9*squares[i] + 0.1*g*g
		w[i] -= tutorialRate * g / (math.Sqrt(squares[i]) + 1e-7)
	}
}

// functionsWorker is the chief.
func functionsWorker(l *link, _ []string) error {
	t, err := joinCluster(map[string]int{"worker": functionWorkers, "ps": functionServers}, functionsTaskArgument)
	defer t.close()
	if err != nil {
		return err
	}
	return inFunctionsJob(func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newTutorial(rc)
		if err != nil {
			return err
		}
		return errors.Join(p.coordinate(ctx, l), p.Close(ctx))
	})
}

func (p *tutorial) coordinate(ctx context.Context, l *link) error {
	c, err := distribute.NewCoordinator(ctx, p.Strategy)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	data := c.CreatePerWorkerDataset(p.data)
	var losses []float64
	for range checkedSteps {
		v, err := c.Schedule(ctx, p.step, data)
		if err != nil {
			return err
		}
		out, err := v.Fetch(ctx)
		if err != nil {
			return err
		}
		losses = append(losses, out[0].Float(0))
	}
	return l.serve(reply{Values: map[string][]float64{"tutorial": losses}, Version: runtime.Version()}, func(cmd command) (reply, error) {
		before, begun := mallocs(), time.Now()
		for range cmd.steps {
			if cmd.name == "empty" {
				_, err = c.Schedule(ctx, p.empty)
			} else {
				_, err = c.Schedule(ctx, p.step, data)
			}
			if err != nil {
				return reply{}, err
			}
		}
		if err := c.Join(ctx); err != nil {
			return reply{}, err
		}
		return reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(cmd.steps)}, nil
	})
}

// functionsTask is a worker or parameter server.
func functionsTask(l *link) error {
	return inFunctionsJob(func(_ context.Context, rc runconfig.RunConfig) error {
		ctx, cancel := untilClosed(l)
		defer cancel()
		if rc.TaskType() == runconfig.PS {
			if err := l.send(reply{}); err != nil {
				return err
			}
			return distribute.Serve(ctx, rc, distribute.WithLogger(slog.New(slog.DiscardHandler)))
		}
		p, err := newTutorial(rc)
		if err != nil {
			return err
		}
		if err := l.send(reply{}); err != nil {
			return err
		}
		return errors.Join(p.Work(ctx), p.Close(ctx))
	})
}

// inFunctionsJob runs a task with its own model_dir.
func inFunctionsJob(task func(context.Context, runconfig.RunConfig) error) error {
	dir, err := os.MkdirTemp("", "bench-functions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rc, err := runconfig.New(runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: threads()}),
		runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: functionServers}}))
	if err != nil {
		return err
	}
	return task(context.Background(), rc)
}
