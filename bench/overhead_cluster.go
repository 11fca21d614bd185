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

// tasks are the other tasks of a cluster in which this process is the chief.
type tasks struct {
	ports *freeport.Reservation
	all   []*child
}

// joinCluster makes this process the chief of a cluster, and starts the other tasks
// as workers of the kind for their job, with those arguments.
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

// close stops the tasks that did not end with the training.
func (t *tasks) close() {
	if t != nil {
		stopAll(t.all)
		t.ports.Close()
	}
}

// inCluster is the option of an Estimator that trains in the cluster of TF_CONFIG,
// without checkpoints, summaries or log lines.
func inCluster(s runconfig.Strategy) (estimator.Option, error) {
	rc, err := runconfig.New(runconfig.LogStepCountSteps(0), runconfig.SaveSummarySteps(0), runconfig.SaveCheckpointsSteps(0),
		runconfig.TrainDistribute(s), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: threads()}))
	return estimator.WithRunConfig(rc), err
}

// psTask is a parameter server of TF_CONFIG's cluster; the chief stops it.
func psTask(l *link, args []string) error {
	if len(args) > 0 && args[0] == functionsTaskArgument {
		return functionsTask(l)
	}
	option, err := inCluster(runconfig.Strategy{Name: "parameter_server"})
	if err != nil {
		return err
	}
	fn, err := tiny() // any model will do: a parameter server does not build it
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

// untilClosed returns a context that ends a while after the parent has closed the link: normally, the
// end of the training ends the task before.
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
