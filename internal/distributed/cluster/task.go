package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// Task names one task of a job: Job is "chief", "master", "worker", "ps" or
// "evaluator", Index counts from 0 within the job.
type Task struct {
	Job   string
	Index int
}

// String returns the task in TensorFlow's form: "/job:worker/task:1".
func (t Task) String() string { return fmt.Sprintf("/job:%s/task:%d", t.Job, t.Index) }

// ParseTask is the inverse of Task.String.
func ParseTask(s string) (Task, error) {
	job, index, ok := strings.Cut(strings.TrimPrefix(s, "/job:"), "/task:")
	n, err := strconv.Atoi(index)
	if !ok || err != nil || n < 0 || job == "" || (Task{job, n}).String() != s {
		return Task{}, fmt.Errorf("cluster: task %q is not of the form /job:worker/task:0", s)
	}
	return Task{Job: job, Index: n}, nil
}
