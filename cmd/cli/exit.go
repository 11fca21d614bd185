package cli

import (
	"errors"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// The exit codes.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitInterrupted = 143
)

// errQuiet marks an error that has been told already.
var errQuiet = errors.New("told")

// usageError is a mistake in the command line or the config.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage marks err as a mistake in the command line or the config.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var u *usageError
	var v *runconfig.ViolationsError
	switch {
	case errors.As(err, &u), errors.As(err, &v):
		return exitUsage
	case errors.Is(err, estimator.ErrInterrupted):
		return exitInterrupted
	}
	return exitError
}

// oneLine joins the lines of an error.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
