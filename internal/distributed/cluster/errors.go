package cluster

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/printable"
)

// ErrPeerLost is wrapped by errors that report that a peer is gone: it is
// unreachable, its connection broke, or it is silent.
var ErrPeerLost = errors.New("peer lost")

// ErrRefused is wrapped by errors that report that a peer (or this node) refuses
// to talk: TLS does not match, a wrong token, an unknown method. Trying again
// does not help until the configuration changes.
var ErrRefused = errors.New("refused")

// PeerError is the error of a call or stream to a peer. It wraps ErrPeerLost or
// ErrRefused where they apply, and the gRPC status error, so that status.Code and
// errors.Is work on it.
type PeerError struct {
	Task    Task
	Address string
	Method  string
	Kind    error // ErrPeerLost, ErrRefused or nil
	Err     error
}

// Error returns "/job:ps/task:0 (host:port): Pull: peer lost: ...". The peer's
// text is shown without characters that a terminal or a log would obey.
func (e *PeerError) Error() string {
	kind := ""
	if e.Kind != nil {
		kind = e.Kind.Error() + ": "
	}
	return printable.Text(fmt.Sprintf("%v (%s): %s: %s%v", e.Task, e.Address, e.Method, kind, e.Err))
}

// Unwrap returns the wrapped errors.
func (e *PeerError) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// codedError is an error with a status code, which gRPC's own text does not show.
type codedError struct {
	error
	code codes.Code
}

func (e *codedError) Unwrap() error              { return e.error }
func (e *codedError) GRPCStatus() *status.Status { return status.New(e.code, e.Error()) }
