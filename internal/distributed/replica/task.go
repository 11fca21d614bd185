package replica

import "fmt"

// Task names one process of a job.
type Task struct {
	Type  string // chief, master, worker, ps or evaluator
	Index int
}

// String returns the task as type-index, for example worker-1.
func (t Task) String() string { return fmt.Sprintf("%s-%d", t.Type, t.Index) }

// Job types in which a task may be.
const (
	Chief     = "chief"
	Master    = "master"
	Worker    = "worker"
	PS        = "ps"
	Evaluator = "evaluator"
)
