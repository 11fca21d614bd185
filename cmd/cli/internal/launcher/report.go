package launcher

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// ErrInterrupted reports that a signal ended the job before it was done.
var ErrInterrupted = errors.New("interrupted")

// ErrKilled reports that the user killed the job.
var ErrKilled = errors.New("interrupted twice: all tasks were killed")

// TaskError reports that a task failed, and so the job.
type TaskError struct {
	Task     replica.Task
	Code     int      // its exit code
	Restarts int      // number of restarts before
	Lines    []string // the last lines of its output
}

// Error returns one line.
func (e *TaskError) Error() string {
	text := fmt.Sprintf("%s failed with exit code %d", e.Task, e.Code)
	switch {
	case e.Restarts == 1:
		text += " after a restart"
	case e.Restarts > 1:
		text += fmt.Sprintf(" after %d restarts", e.Restarts)
	}
	if len(e.Lines) > 0 {
		text += ": " + strings.Join(e.Lines, " | ")
	}
	return text
}

// Outcome is how a task ended.
type Outcome struct {
	Task     string `json:"task"`
	ExitCode int    `json:"exit_code"`
	Restarts int    `json:"restarts"`
	// End is "exited" if the task ended by itself, "terminated" if it ended
	// after a SIGTERM from the launcher, and "killed" if it had to be killed.
	End string `json:"end"`
}

func (c *cluster) outcomes() []Outcome {
	var out []Outcome
	for _, t := range c.tasks {
		end := "exited"
		switch {
		case t.wasKilled():
			end = "killed"
		case t.stopped:
			end = "terminated"
		}
		out = append(out, Outcome{Task: t.String(), ExitCode: t.code, Restarts: t.restarts(), End: end})
	}
	return out
}
