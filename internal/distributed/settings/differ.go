package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/printable"
)

// ErrDiffer is wrapped by errors that report that a task's settings differ from
// its job's; retrying cannot help.
var ErrDiffer = errors.New("the tasks of the job differ")

// Difference is a setting that differs between two tasks.
type Difference struct{ Name, Mine, Theirs string }

// DifferError names the settings that differ between two tasks.
type DifferError struct {
	Mine, Theirs string // the tasks
	Differences  []Difference
}

// maxNamed bounds the number of settings in a message.
const maxNamed = 8

// Error returns "the tasks of the job differ: /job:worker/task:1 has
// learning_rate=0.2; /job:chief/task:0 has learning_rate=0.1: ...".
func (e *DifferError) Error() string {
	var mine, theirs []string
	for _, d := range e.Differences[:min(len(e.Differences), maxNamed)] {
		name := printable.Text(d.Name) + "="
		mine, theirs = append(mine, name+printable.Value(d.Mine)), append(theirs, name+printable.Value(d.Theirs))
	}
	more := ""
	if n := len(e.Differences) - maxNamed; n > 0 {
		more = fmt.Sprintf("; %d more differ", n)
	}
	return fmt.Sprintf("%v: %s has %s; %s has %s%s: start all tasks with the same program and config",
		ErrDiffer, e.Mine, strings.Join(mine, ", "), e.Theirs, strings.Join(theirs, ", "), more)
}

// Unwrap returns ErrDiffer.
func (e *DifferError) Unwrap() error { return ErrDiffer }
