package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// The subject elastic trains the MLP on three nodes, kills one with all its processes, and starts it again. A step is
// the time from the kill until the other nodes have made a step. A further figure is the time from the restart of
// the node until it has made one.
const elasticNodes = 3

// elasticKinds are the contenders, as arguments of the worker.
var elasticKinds = []string{"goestimator", "torchelastic"}

func elasticField(_ context.Context, s settings, _ string) (field, error) {
	f := field{}
	for i, name := range []string{ours, "torchelastic"} {
		argv, err := self("elastic", elasticKinds[i], s.python)
		if err != nil {
			return f, err
		}
		f.contenders = append(f.contenders, contender{name: name, argv: argv})
	}
	return f, nil
}

// elasticWorker starts, kills and watches the nodes of one contender.
func elasticWorker(l *link, args []string) error {
	version := runtime.Version()
	if kind := args[0]; kind != elasticKinds[0] {
		out, err := pythonVersion(args[1], "torch")
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		version = "torch " + out
	}
	return l.serve(reply{Version: version}, func(c command) (reply, error) {
		var r reply
		for range c.steps {
			one, err := elasticRun(args[0], args[1])
			if err != nil {
				return r, err
			}
			r.Seconds += one.Seconds / float64(c.steps)
			r.More = one.More
		}
		return r, nil
	})
}

// elasticRun is one kill and one start.
func elasticRun(kind, python string) (r reply, err error) {
	dir, err := os.MkdirTemp("", "bench-elastic-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	ports, err := freeport.Reserve(elasticNodes)
	if err != nil {
		return r, err
	}
	defer ports.Close()
	if kind != elasticKinds[0] { // its store listens on all addresses, so a port reserved on one address fails
		if err := ports.Close(); err != nil {
			return r, err
		}
	}
	c, err := newElasticCluster(elasticPlan{kind, python, dir, ports})
	defer c.close()
	if err != nil {
		return r, err
	}
	for rank := range elasticNodes {
		if err := c.start(rank); err != nil {
			return r, err
		}
	}
	if _, err := c.await(elasticNodes, 0, 1, 2); err != nil {
		return r, err
	}
	time.Sleep(elasticTraining)
	killed := c.kill(elasticNodes - 1)
	r.More = map[string]float64{}
	trained, err := c.await(elasticNodes-1, 0, 1)
	if err != nil { // the real time is longer
		fmt.Fprintln(os.Stderr, err)
		r.Seconds, r.More["kills without a step in time"] = elasticPatience.Seconds(), 1
		return r, nil
	}
	r.Seconds = trained.Sub(killed).Seconds()
	time.Sleep(elasticTraining)
	begun := time.Now()
	if err := c.start(elasticNodes - 1); err != nil {
		return r, err
	}
	joined, err := c.await(elasticNodes, elasticNodes-1)
	r.More["s until a node takes part"] = joined.Sub(begun).Seconds()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		r.More["s until a node takes part"] = elasticPatience.Seconds()
	}
	return r, nil
}

// elasticTraining is how long a ring trains before a node is killed or started.
const elasticTraining = 2 * time.Second

// elasticPlan describes the nodes of one run.
type elasticPlan struct {
	kind, python, dir string
	ports             *freeport.Reservation
}

// node returns how to start a node. By default, torch.distributed.run waits 30 s for further nodes; 1 s is the least that it accepts.
//
// By default each of its nodes tries to host the store, and the job ends with the node that does. Here it is the first, which
// is not killed. The workers of each ring get their own store: a shared one stores their addresses by the
// number of restarts, which a new node counts from 0, so that PyTorch 2.5's workers do not find each other.
func (p elasticPlan) node(rank int) (argv, env []string, err error) {
	if p.kind == elasticKinds[0] {
		var list []string
		for i := 1; i < elasticNodes; i++ {
			list = append(list, fmt.Sprintf("%q", p.ports.Address(i)))
		}
		task := `"type":"chief","index":0`
		if rank > 0 {
			task = fmt.Sprintf(`"type":"worker","index":%d`, rank-1)
		}
		config := fmt.Sprintf(`{"cluster":{"chief":[%q],"worker":[%s]},"task":{%s}}`, p.ports.Address(0), strings.Join(list, ","), task)
		argv, err = self("elastic_node", p.dir)
		return argv, []string{"TF_CONFIG=" + config}, err
	}
	argv = []string{p.python, "-m", "torch.distributed.run", fmt.Sprint("--nnodes=1:", elasticNodes), "--nproc-per-node=1", "--max-restarts=100",
		"--rdzv-id=bench", "--rdzv-backend=c10d", "--rdzv-endpoint=" + p.ports.Address(0),
		fmt.Sprintf("--rdzv-conf=last_call_timeout=1,is_host=%t", rank == 0), "--local-addr=127.0.0.1",
		filepath.Join("bench", "peers", "elastic.py"), p.dir}
	return argv, []string{"OMP_WAIT_POLICY=passive", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"}, nil
}

// elasticNode is one of our nodes: elastic_node DIR.
func elasticNode(_ *link, args []string) error {
	w, err := lookUp("mlp")
	if err != nil {
		return err
	}
	x, y := w.draw(rand.New(rand.NewPCG(1, 2)))
	rc, err := runconfig.New(runconfig.ModelDir(args[0]), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.SaveSummarySteps(0),
		runconfig.SaveCheckpointsSteps(200), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: 1}),
		runconfig.TrainDistribute(runconfig.Strategy{Name: "multi_worker_mirrored", Elastic: runconfig.Elastic{Min: 1}}))
	if err != nil {
		return err
	}
	e, err := w.estimator(estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(os.Stdout, nil))))
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.Train(context.Background(), w.input(x, y, w.batch))
	return err
}
