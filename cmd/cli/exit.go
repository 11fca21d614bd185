package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/diskspace"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/runconfig"
)

// The exit codes of commands.
const (
	exitDone        = estimator.ExitDone
	exitUsage       = estimator.ExitMistake
	exitInterrupted = estimator.ExitInterrupted
)

// errReported marks an error that has been reported already.
var errReported = errors.New("reported")

// usage marks err as a mistake in the command line or the config.
func usage(err error) error { return runconfig.Mistake(err) }

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// end reports the outcome of a command with context ctx in one line, and returns the
// exit code. After a signal, the command's own errors are still reported; anything else
// is an interruption, unless the command drains.
func (a *app) end(ctx context.Context, err error) int {
	err = estimator.Interruption(ctx, err)
	if err == nil && (ctx.Err() == nil || a.drains) {
		return exitDone
	}
	if err == nil {
		err = &codeError{exitInterrupted, fmt.Errorf("%w, when all was done", context.Cause(ctx))}
	}
	return a.fail(err)
}

// fail reports the error in one line and returns its exit code.
func (a *app) fail(err error) int {
	a.startLog() // flags before the mistake count
	code := exitCode(err)
	switch {
	case errors.Is(err, errReported):
	case code == exitUsage && !a.logs.json: // one line for each mistake of a config
		a.complain(strings.Join(errorLines(err), "\n  "))
	default:
		a.complain(advised(oneLine(err), diskspace.Advice(err)))
	}
	return code
}

// panicked reports a panic and where it came from, and returns its exit code.
func (a *app) panicked(value any, stack []byte) int {
	a.stderr.detach()
	a.startLog()
	text := "panic: " + oneLine(fmt.Errorf("%v", value))
	if a.logs.json {
		a.log.Error(text, "stack", string(stack))
		return estimator.ExitError
	}
	a.complain(text)
	_, _ = a.stderr.Write(stack) // there is nowhere left to report it
	return estimator.ExitError
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var c *codeError
	if errors.As(err, &c) {
		return c.code
	}
	return estimator.ExitCode(err)
}

// advised appends the advice to the text of an error, unless the text has it already.
func advised(text, advice string) string {
	if advice == "" || strings.Contains(text, advice) {
		return text
	}
	return text + ": " + advice
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.Join(errorLines(err), "; ") }

// errorLines are the lines of an error, each once: a failed write often fails again at Close, and then the line is the end of another.
// Errors may quote untrusted names.
func errorLines(err error) []string {
	var lines []string
	for line := range strings.Lines(statustext.Of(err)) {
		line = printable.Text(strings.TrimSpace(line))
		again := slices.ContainsFunc(lines, func(l string) bool { return l == line || strings.HasSuffix(l, ": "+line) })
		if line != "" && !again {
			lines = append(lines, line)
		}
	}
	return lines
}

// within puts a subject before an error; before each one, if errors are joined.
func within(what string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s%w", what, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, fmt.Errorf("%s%w", what, e))
	}
	return errors.Join(errs...)
}
