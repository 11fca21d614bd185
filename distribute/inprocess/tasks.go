package inprocess

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/runconfig"
)

// Tasks says how many tasks of each kind a cluster has.
type Tasks struct {
	Chief     int // 0 or 1; without a chief the first worker takes its place
	Workers   int
	PS        int // parameter servers
	Evaluator int // 0 or 1
}

// Task identifies a task by its job, such as runconfig.Worker, and its index from 0.
type Task struct {
	Job   string
	Index int
}

// String returns a name such as worker-1.
func (t Task) String() string { return fmt.Sprintf("%s-%d", t.Job, t.Index) }

// maxTasks bounds a cluster.
const maxTasks = 1000

// list returns the tasks, the chief first.
func (n Tasks) list() ([]Task, error) {
	var all []Task
	for _, job := range []struct {
		name       string
		count, max int
	}{{runconfig.Chief, n.Chief, 1}, {runconfig.Worker, n.Workers, maxTasks}, {runconfig.PS, n.PS, maxTasks}, {runconfig.Evaluator, n.Evaluator, 1}} {
		if job.count < 0 || job.count > job.max {
			return nil, fmt.Errorf("%d tasks of the job %s: expected 0 to %d", job.count, job.name, job.max)
		}
		for i := range job.count {
			all = append(all, Task{job.name, i})
		}
	}
	if n.Chief+n.Workers == 0 {
		return nil, errors.New("no task trains: expected a chief, or workers")
	}
	return all, nil
}
