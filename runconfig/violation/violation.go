package violation

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"strings"
)

// ErrMistake is wrapped by errors that report a mistake in a configuration: a process
// that is started again in the same way fails again.
var ErrMistake = errors.New("a mistake in the configuration")

// Violation is one mistake in a configuration.
type Violation struct {
	// Field is the key or option, for example train.max_steps or cluster.chief.
	Field string
	// Value is what was found there.
	Value any
	// Bound is what was expected, in words.
	Bound string
	// Where names the source (file:line, --set, an environment variable); empty where unknown.
	Where string
}

func (v Violation) String() string {
	s := v.Field + ": got " + Quote(v.Value) + ", " + v.Bound
	if v.Where != "" {
		s += " (" + v.Where + ")"
	}
	return s
}

// Quote formats a value on one line, with text in quotes, truncated if very long.
func Quote(v any) string {
	const most = 120
	var s string
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		s = fmt.Sprintf("%q", v)
	case json.RawMessage:
		s = strings.Join(strings.Fields(string(v)), " ")
	default:
		s = strings.Join(strings.Fields(fmt.Sprint(v)), " ")
	}
	return printable.Short(s, most)
}

// Error reports all mistakes in a configuration. It is an [ErrMistake].
type Error struct {
	// Violations holds at least one entry.
	Violations []Violation
}

// Error lists the violations: a single one on one line, several one per line.
func (e *Error) Error() string {
	if len(e.Violations) == 1 {
		return "invalid configuration: " + e.Violations[0].String()
	}
	lines := make([]string, 0, len(e.Violations)+1)
	lines = append(lines, fmt.Sprintf("invalid configuration: %d violations", len(e.Violations)))
	for _, v := range e.Violations {
		lines = append(lines, "  "+v.String())
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrMistake.
func (e *Error) Is(target error) bool { return target == ErrMistake }
