package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is a panic as clients see it: with gRPC's code INTERNAL, and a text that reveals neither the panic nor its place.
type Error struct {
	Where string // what panicked, for clients and the log
	ID    string // finds it in the log
	Value any    // the value of the panic
	Stack []byte

	logged sync.Once
}

// New makes the Error of a panic with the stack of its caller, which recovered it.
func New(where string, value any) *Error { return WithStack(where, value, debug.Stack()) }

// WithStack is New with the stack at hand.
func WithStack(where string, value any, stack []byte) *Error {
	return &Error{Where: where, ID: fmt.Sprintf("%012x", rand.Uint64()>>16), Value: value, Stack: stack}
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s panicked: the server's log tells more under %s", e.Where, e.ID)
}

// GRPCStatus returns the status for package status.
func (e *Error) GRPCStatus() *status.Status { return status.New(codes.Internal, e.Error()) }

// Log logs the panic that err is or wraps, if any, once; nil log: slog.Default. more has further attributes, as in slog.
func Log(log *slog.Logger, err error, more ...any) {
	e := (*Error)(nil)
	if err == nil || !errors.As(err, &e) {
		return
	}
	e.logged.Do(func() {
		if log == nil {
			log = slog.Default()
		}
		log.Error(printable.Text(e.Where)+" panicked", append([]any{"id", e.ID, "panic", fmt.Sprint(e.Value), "stack", string(e.Stack)}, more...)...)
	})
}
