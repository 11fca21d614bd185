package tfjob

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// SuccessPolicy says when a job without a chief has succeeded.
type SuccessPolicy string

// The success policies. A job with a chief (or master) succeeds with it.
const (
	Default    SuccessPolicy = "" // success with worker 0
	AllWorkers SuccessPolicy = "AllWorkers"
)

// CleanPodPolicy says which pods are deleted once a job is finished.
type CleanPodPolicy string

// The clean-up policies.
const (
	CleanNone    CleanPodPolicy = "None"
	CleanRunning CleanPodPolicy = "Running" // and pending ones
	CleanAll     CleanPodPolicy = "All"
)

// Replicas is the replica spec of one type.
type Replicas struct {
	Count   int
	Restart replica.RestartPolicy // empty: Never
	Command []string
	Env     []string // NAME=VALUE, in addition to the job's
}

// Job is the spec of a TFJob.
type Job struct {
	Name           string              // empty: job
	Replicas       map[string]Replicas // by type: chief, master, worker, ps, evaluator
	Success        SuccessPolicy
	CleanPods      CleanPodPolicy // empty: None
	BackoffLimit   *int           // nil: none
	DynamicWorkers bool           // enableDynamicWorker: the sparse TF_CONFIG

	Env []string // NAME=VALUE for all replicas, in addition to this process's
	// Addresses has the tasks' addresses; nil: free ports of 127.0.0.1.
	Addresses map[string][]string
	// Grace is the time from SIGTERM to SIGKILL when a pod is deleted; 0: 30 s.
	Grace time.Duration
	// Delay is the kubelet's pause before it starts a container again; 0: none.
	Delay time.Duration
	// Output receives the output of all replicas; nil: it is dropped.
	Output io.Writer
}

// order is the order in which the operator processes the types.
var order = []string{replica.Chief, replica.Evaluator, replica.Master, replica.PS, replica.Worker}

func (j *Job) complete() error {
	if j.Name == "" {
		j.Name = "job"
	}
	if j.CleanPods == "" {
		j.CleanPods = CleanNone
	}
	if j.Grace == 0 {
		j.Grace = 30 * time.Second
	}
	if j.Output == nil {
		j.Output = io.Discard
	}
	chiefs := 0
	for typ, r := range j.Replicas {
		switch {
		case !slices.Contains(order, typ):
			return fmt.Errorf("replica type %q: expected one of %v", typ, order)
		case r.Count < 1 || len(r.Command) == 0:
			return fmt.Errorf("%s: expected at least one replica and a command", typ)
		case j.Addresses != nil && len(j.Addresses[typ]) != r.Count:
			return fmt.Errorf("%s: %d addresses, expected %d", typ, len(j.Addresses[typ]), r.Count)
		}
		if typ == replica.Chief || typ == replica.Master {
			chiefs += r.Count
		}
	}
	if len(j.Replicas) == 0 || chiefs > 1 {
		return errors.New("expected replicas, and at most one chief or master")
	}
	return nil
}

// tasks lists all tasks in the operator's order.
func (j *Job) tasks() []replica.Task {
	var out []replica.Task
	for _, typ := range order {
		for i := range j.Replicas[typ].Count {
			out = append(out, replica.Task{Type: typ, Index: i})
		}
	}
	return out
}

// tfConfig is the TF_CONFIG of a task; empty: none.
func (j *Job) tfConfig(t replica.Task) string {
	if len(j.tasks()) == 1 {
		return ""
	}
	if j.DynamicWorkers {
		return replica.SparseTFConfig(j.Addresses, t)
	}
	return replica.TFConfig(j.Addresses, t)
}
