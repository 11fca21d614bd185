package cluster

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrLost means that a task or its state is gone: open a new session, and restore the variables of restarted tasks.
var ErrLost = errors.New("the session is lost")

// Error is the error of a call that a server refused, or that failed there.
type Error struct {
	Code    codes.Code // TensorFlow's codes are gRPC's
	Message string
}

// Error returns the code and the server's message.
func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Is reports that ABORTED and UNAVAILABLE are ErrLost, and maps the codes for ended contexts to context's errors.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case codes.Aborted, codes.Unavailable:
		return target == ErrLost
	case codes.Canceled:
		return target == context.Canceled
	case codes.DeadlineExceeded:
		return target == context.DeadlineExceeded
	}
	return false
}

// errorOf returns the error of a call.
func errorOf(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	return &Error{s.Code(), s.Message()}
}
