package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// The subjects cluster-runtime and cluster-memory run a worker and a parameter server of TensorFlow's cluster runtime in
// separate processes: ours or TensorFlow's, with the same Go client. The Python client runs its own steps.
const (
	runtimeStep1     = "step-1-task"
	runtimeStep2     = "step-2-tasks"
	runtimePull      = "pull-100MB"
	runtimePush      = "push-100MB"
	runtimePullMany  = "pull-100x1MB"
	runtimePushMany  = "push-100x1MB"
	runtimeFetch     = "fetch-100MB"
	runtimeGather    = "gather"
	runtimeScatter   = "scatter-add"
	runtimeAdagrad   = "sparse-adagrad"
	runtimeEmbedding = "gather+adagrad"
)

var runtimeCases = []string{runtimeStep1, runtimeStep2, runtimePull, runtimePush, runtimePullMany, runtimePushMany, runtimeFetch,
	runtimeGather, runtimeScatter, runtimeAdagrad, runtimeEmbedding}

// runtimeMemory are the cases for the memory of a parameter server: before it has variables, and after steps that pull and push them.
var runtimeMemory = []string{"idle", "variables"}

// memorySteps is the number of steps in a block of the memory case, memoryRest the pause after them: both servers free some memory later.
const (
	memorySteps = 200
	memoryRest  = 5 * time.Second
)

func runtimeField(_ context.Context, s settings, _ string) (field, error) {
	f := field{reference: runtimeReference(), tolerance: 1e-5}
	for name, servers := range map[string]string{ours: ours, "TensorFlow": s.python} {
		argv, err := self("cluster_runtime", servers)
		if err != nil {
			return f, err
		}
		f.contenders = append(f.contenders, contender{name: name, argv: argv, env: runtimeEnv})
	}
	slices.SortFunc(f.contenders, func(a, b contender) int { // ours first
		if a.name == ours {
			return -1
		}
		return 1
	})
	python := s.peer("TensorFlow, client in Python", "cluster_runtime.py", "client")
	python.cases, python.env = []string{runtimeStep1, runtimeStep2}, append(python.env, runtimeEnv...)
	f.contenders = append(f.contenders, python)
	return f, nil
}

// runtimeEnv keeps TensorFlow's servers from using a proxy, and from waiting for servers that are starting.
var runtimeEnv = []string{"GRPC_FAIL_FAST=use_caller"}

func memoryOfServers(ctx context.Context, s settings, dir string) (field, error) {
	f, err := runtimeField(ctx, s, dir)
	f.reference, f.contenders = nil, f.contenders[:2]
	return f, err
}

// runtimeWorker starts a cluster and is its client: bench worker cluster_runtime SERVERS, where SERVERS is ours or a Python with TensorFlow.
func runtimeWorker(l *link, args []string) error {
	c, err := startCluster(args[0])
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.measured(l); err != nil {
		return l.send(reply{Error: c.explained(err).Error()})
	}
	return nil
}

// measured opens a session, checks the results of steps, and runs the steps that the parent requests.
func (c *runtimeCluster) measured(l *link) error {
	idle, err := c.ps.resident()
	if err != nil {
		return err
	}
	s, err := openRuntime(c.worker.address)
	if err != nil {
		return err
	}
	defer func() {
		_ = within("close the session", s.Close) // the servers are stopped afterwards
	}()
	values, err := s.check()
	if err != nil {
		return err
	}
	return l.serve(reply{Values: values, Version: c.ps.version}, func(cmd command) (reply, error) {
		if slices.Contains(runtimeMemory, cmd.name) {
			return c.memory(s, cmd, idle)
		}
		return s.timed(cmd)
	})
}

// timed runs the steps of a block.
func (s *runtimeSession) timed(c command) (reply, error) {
	step, ok := runtimeSteps[c.name]
	if !ok {
		return reply{}, fmt.Errorf("no case %q", c.name)
	}
	var r reply
	err := within(c.name, func(ctx context.Context) error {
		before, begun := mallocs(), time.Now()
		for range c.steps {
			if _, err := s.run(ctx, step); err != nil {
				return err
			}
		}
		r = reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}
		return nil
	})
	return r, err
}

// memory is the parameter server's memory: before the first session, or now, after so many steps, some of which move all variables.
func (c *runtimeCluster) memory(s *runtimeSession, cmd command, idle float64) (reply, error) {
	if cmd.name == runtimeMemory[0] {
		return reply{Seconds: idle}, nil
	}
	for i := range cmd.steps {
		for _, name := range []string{runtimeEmbedding, runtimePull, runtimePush} {
			if name != runtimeEmbedding && i%50 != 0 {
				continue
			}
			err := within(name, func(ctx context.Context) error {
				_, err := s.run(ctx, runtimeSteps[name])
				return err
			})
			if err != nil {
				return reply{}, err
			}
		}
	}
	time.Sleep(memoryRest)
	now, err := c.ps.resident()
	return reply{Seconds: now}, err
}

// runtimeReference is the results of the first steps.
func runtimeReference() map[string][]float64 {
	// Adagrad starts with 0.1; a row whose id occurs n times is updated n times.
	slot, row := 0.1, 0.0
	for range runtimeRepeats {
		slot += tableStep * tableStep
		row -= tableStep * tableStep / math.Sqrt(slot)
	}
	return map[string][]float64{
		runtimeStep1: {42}, runtimeStep2: {42},
		runtimePush: {2}, runtimePushMany: {2}, runtimeFetch: {2},
		runtimeAdagrad: {row}, runtimeScatter: {row + runtimeRepeats*tableStep},
	}
}
