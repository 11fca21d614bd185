package cluster

import (
	"errors"
	"fmt"
)

// ErrPeerLost is in the chain of errors that say that a peer is not there: it
// is unreachable, its connection broke, or it is silent.
var ErrPeerLost = errors.New("peer lost")

// ErrRefused is in the chain of errors that say that a peer (or this node)
// refuses to talk: TLS does not match, a wrong token, an unknown method. Trying
// again does not help until the configuration changes.
var ErrRefused = errors.New("refused")

// PeerError is the error of a call or stream to a peer. Its chain holds
// ErrPeerLost or ErrRefused where they apply, and the gRPC status error, so
// that status.Code and errors.Is work on it.
type PeerError struct {
	Task    Task
	Address string
	Method  string
	Kind    error // ErrPeerLost, ErrRefused or nil
	Err     error
}

// Error returns "/job:ps/task:0 (host:port): Pull: peer lost: ...".
func (e *PeerError) Error() string {
	kind := ""
	if e.Kind != nil {
		kind = e.Kind.Error() + ": "
	}
	return fmt.Sprintf("%v (%s): %s: %s%v", e.Task, e.Address, e.Method, kind, e.Err)
}

// Unwrap returns what the error consists of.
func (e *PeerError) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}
