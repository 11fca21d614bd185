package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// The exit codes that commands have besides those of package estimator.
const (
	exitDone        = estimator.ExitDone
	exitUsage       = 2
	exitInterrupted = estimator.ExitInterrupted
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

// interruptedError tells that a signal ended a command that has nothing to save.
type interruptedError struct{ cause, err error }

func (e *interruptedError) Error() string { return fmt.Sprintf("interrupted: %v", e.cause) }
func (e *interruptedError) Unwrap() error { return e.err }

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// interruption is err, or what ended ctx where err is only a consequence of it.
func interruption(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, estimator.ErrInterrupted) {
		return err
	}
	return &interruptedError{context.Cause(ctx), err}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var u *usageError
	var v *runconfig.ViolationsError
	var i *interruptedError
	var c *codeError
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &u), errors.As(err, &v):
		return exitUsage
	case errors.As(err, &i):
		return exitInterrupted
	}
	return estimator.ExitCode(err)
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
