package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errClosed = status.Error(codes.Unavailable, "the model is closed")

// errEvicted says that something was evicted before a run could use it: the run has to look again.
var errEvicted = errors.New("evicted")

// errPlacement says that an op may not run on the host.
var errPlacement = errors.New("the device cannot run all of the model")

// invalid is the error for invalid feeds.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// statusOf gives an error a code that says whose fault it is.
func statusOf(err error) error {
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	if panicked := (*engine.PanicError)(nil); errors.As(err, &panicked) {
		return fault.WithStack("a part of the model", panicked, panicked.Stack)
	}
	return status.Error(codeOf(err), statustext.Of(err))
}

// ofModel adds the model to an error, and keeps its code.
func ofModel(dir string, err error) error {
	if panicked := (*fault.Error)(nil); errors.As(err, &panicked) {
		return fmt.Errorf("saved model %s: %w", dir, err) // keeps the details for the log
	}
	if unsupported := (*UnsupportedError)(nil); errors.As(err, &unsupported) {
		return fmt.Errorf("saved model %s: %w", dir, err) // keeps the list of gaps
	}
	if coded, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return status.Errorf(coded.GRPCStatus().Code(), "saved model %s: %s", dir, coded.GRPCStatus().Message())
	}
	return fmt.Errorf("saved model %s: %w", dir, err)
}

func codeOf(err error) codes.Code {
	var index *engine.IndexError
	var node *eager.Error
	var coded interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &coded):
		return coded.GRPCStatus().Code()
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, eager.ErrLimit):
		return codes.InvalidArgument // a retry would not help
	case errors.Is(err, device.ErrMemory):
		return codes.ResourceExhausted
	case errors.Is(err, eager.ErrUnsupported):
		return codes.Unimplemented
	case errors.Is(err, eager.ErrUninitialized), errors.Is(err, errPlacement):
		return codes.FailedPrecondition
	case errors.As(err, &index), errors.As(err, &node):
		return codes.InvalidArgument
	}
	return codes.Internal
}

// recovered turns a panic into an error: it is the one boundary between a request and the process.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fault.New("the model", r)
	}
}
