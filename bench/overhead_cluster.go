package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// tasks are the other tasks of a cluster whose chief this process is.
type tasks struct {
	ports *freeport.Reservation
	all   []*child
}

// joinCluster makes this process the chief of a cluster, and starts the others,
// each as a worker of the kind of its job, with those arguments.
func joinCluster(jobs map[string]int, args ...string) (*tasks, error) {
	n := 1
	for _, k := range jobs {
		n += k
	}
	ports, err := freeport.Reserve(n)
	if err != nil {
		return nil, err
	}
	t := &tasks{ports: ports}
	addresses := map[string][]string{"chief": {ports.Address(0)}}
	for job, k := range jobs {
		for range k {
			n--
			addresses[job] = append(addresses[job], ports.Address(n))
		}
	}
	for job, list := range addresses {
		for i := range list {
			config, err := json.Marshal(map[string]any{"cluster": addresses, "task": map[string]any{"type": job, "index": i}})
			if err != nil {
				return t, err
			}
			if job == "chief" {
				if err := os.Setenv("TF_CONFIG", string(config)); err != nil {
					return t, err
				}
				continue
			}
			argv, err := self(job+"_task", args...)
			if err != nil {
				return t, err
			}
			w, err := start(context.Background(), contender{name: fmt.Sprint(job, " ", i), argv: argv, env: []string{"TF_CONFIG=" + string(config)}}, threads())
			if err != nil {
				return t, err
			}
			t.all = append(t.all, w)
		}
	}
	return t, nil
}

// close ends the tasks that have not ended with the training.
func (t *tasks) close() {
	if t != nil {
		stopAll(t.all)
		t.ports.Close()
	}
}

// inCluster is the option of an Estimator that trains in the cluster of TF_CONFIG,
// without checkpoints, summaries and log lines.
func inCluster(s runconfig.Strategy) (estimator.Option, error) {
	rc, err := runconfig.New(runconfig.LogStepCountSteps(0), runconfig.SaveSummarySteps(0), runconfig.SaveCheckpointsSteps(0),
		runconfig.TrainDistribute(s), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: threads()}))
	return estimator.WithRunConfig(rc), err
}

// psTask is a parameter server of TF_CONFIG's cluster; the chief ends it.
func psTask(l *link, args []string) error {
	if len(args) > 0 && args[0] == functionsTaskArgument {
		return functionsTask(l)
	}
	option, err := inCluster(runconfig.Strategy{Name: "parameter_server"})
	if err != nil {
		return err
	}
	fn, err := tiny() // it asks no model for anything
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-ps-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := estimator.New(fn, option, estimator.WithModelDir(dir), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := untilClosed(l)
	defer cancel()
	if err := l.send(reply{}); err != nil {
		return err
	}
	return e.RunParameterServer(ctx)
}

// untilClosed ends the context a while after the parent has closed the link, as
// training that ends ends its tasks.
func untilClosed(l *link) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ok := true; ok; {
			_, ok, _ = l.next()
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}
