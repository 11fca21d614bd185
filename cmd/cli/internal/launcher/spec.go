package launcher

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// Job is the tasks of a job and the command that each runs.
type Job struct {
	Chiefs, Workers, PS, Evaluators int

	Command      []string
	Restart      replica.RestartPolicy
	CoresPerTask int           // 0: tasks decide themselves
	Grace        time.Duration // from SIGTERM to SIGKILL
}

// Validate returns an error if the job is invalid.
func (j Job) Validate() error {
	for _, c := range j.counts() {
		if c.n < 0 {
			return fmt.Errorf("%s: got %d tasks, expected 0 or more", c.job, c.n)
		}
	}
	switch {
	case j.Chiefs > 1:
		return fmt.Errorf("chief: got %d tasks, expected one at most", j.Chiefs)
	case j.Evaluators > 1:
		return fmt.Errorf("evaluator: got %d tasks, expected one at most", j.Evaluators)
	case j.Chiefs+j.Workers == 0:
		return errors.New("no tasks that train: expected a chief or workers, for example --chief 1 --workers 2")
	case len(j.Tasks()) > maxTasks:
		return fmt.Errorf("got %d tasks, expected %d at most", len(j.Tasks()), maxTasks)
	case len(j.Command) == 0:
		return errors.New("no command: expected what each task shall run, for example -- goestimator train --config FILE")
	case j.CoresPerTask < 0:
		return fmt.Errorf("cores per task: got %d, expected 0 or more", j.CoresPerTask)
	case j.Grace < 0:
		return fmt.Errorf("grace: got %v, expected 0 or more", j.Grace)
	}
	return nil
}

// maxTasks bounds the tasks of a job, so that a typing error does not start
// millions of processes.
const maxTasks = 1024

type count struct {
	job string
	n   int
}

// counts lists the number of tasks of each type, in the order in which tasks are started and reported.
func (j Job) counts() []count {
	return []count{{replica.Chief, j.Chiefs}, {replica.Worker, j.Workers}, {replica.PS, j.PS}, {replica.Evaluator, j.Evaluators}}
}

// Tasks returns the tasks: chief, workers, parameter servers, evaluator.
func (j Job) Tasks() []replica.Task {
	var tasks []replica.Task
	for _, c := range j.counts() {
		for i := range min(c.n, maxTasks+1) {
			tasks = append(tasks, replica.Task{Type: c.job, Index: i})
		}
	}
	return tasks
}

// Leader returns the task whose success is the job's success: the chief or, without one,
// worker 0.
func (j Job) Leader() replica.Task {
	if j.Chiefs > 0 {
		return replica.Task{Type: replica.Chief}
	}
	return replica.Task{Type: replica.Worker}
}

// Local is a job to run on this machine.
type Local struct {
	Job
	Environ       []string      // NAME=VALUE, inherited by all tasks
	MaxRestarts   int           // of one task
	FirstDelay    time.Duration // before the first restart of a task; doubles, up to 32 times that
	FinishTimeout time.Duration // how long the others may continue once the leader is done
	PSTimeout     time.Duration // how long parameter servers may continue once all others are done
	LogDir        string        // one file for each task; empty: none

	Stdout, Stderr io.Writer // output of tasks, each line after the task's name
	Color          bool      // names are coloured
	Records        bool      // each line on the tasks' standard error becomes a JSON object
	Log            *slog.Logger
	Kill           <-chan struct{} // close it to kill all tasks at once; may be nil
}
