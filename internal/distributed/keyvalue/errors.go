package keyvalue

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fault is a sentinel error with its status code on the wire.
type fault struct {
	code codes.Code
	text string
}

func (f *fault) Error() string              { return f.text }
func (f *fault) GRPCStatus() *status.Status { return status.New(f.code, f.text) }

// A Store's answers to requests that it cannot grant. status.Code of them, and of errors that wrap them, returns the
// code in parentheses, on the leader and elsewhere.
var (
	// ErrStale: the gather is complete without this process (Aborted).
	ErrStale error = &fault{codes.Aborted, "the generation is over: form a newer one"}
	// ErrSuperseded: a newer process has taken this task (AlreadyExists).
	ErrSuperseded error = &fault{codes.AlreadyExists, "a newer process has taken this task: end this one"}
	// ErrLeaderReset: the leader came back without its state (FailedPrecondition). A new Client talks to the new one.
	ErrLeaderReset error = &fault{codes.FailedPrecondition, "the leader came back without its state: join again"}
	// ErrInvalid: the request is invalid, or contradicts the requests of other ranks
	// (InvalidArgument).
	ErrInvalid error = &fault{codes.InvalidArgument, "invalid request"}
	// ErrFull: the Store's limits are reached (ResourceExhausted).
	ErrFull error = &fault{codes.ResourceExhausted, "the leader's key-value store is full"}
)

var faults = []error{ErrStale, ErrSuperseded, ErrLeaderReset, ErrInvalid, ErrFull}

// fromWire restores the sentinel of a call's error.
func fromWire(err error) error {
	code := status.Code(err)
	for _, f := range faults {
		if f.(*fault).code == code && !errors.Is(err, f) {
			return &wired{f, err}
		}
	}
	return err
}

// wired is an error from the leader: the text of err, which is also the sentinel.
type wired struct{ sentinel, err error }

func (w *wired) Error() string   { return w.err.Error() }
func (w *wired) Unwrap() []error { return []error{w.sentinel, w.err} }

// MissingError lists the ranks that did not come to a gather in time.
type MissingError struct {
	Name  string
	Size  int
	Ranks []int // at most maxNamed of them
	Err   error // of the context
}

const maxNamed = 16

func (e *MissingError) Error() string {
	if e.Ranks == nil {
		return fmt.Sprintf("gather %q of %d ranks: the leader did not answer: %v", e.Name, e.Size, e.Err)
	}
	names := strings.Trim(fmt.Sprint(e.Ranks), "[]")
	if len(e.Ranks) == maxNamed {
		names += " ..."
	}
	return fmt.Sprintf("gather %q of %d ranks: ranks %s did not come: %v", e.Name, e.Size, strings.ReplaceAll(names, " ", ", "), e.Err)
}

// Unwrap is the error of the context that ended.
func (e *MissingError) Unwrap() error { return e.Err }
