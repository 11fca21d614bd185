package budget

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The flags that set the limits, as errors name them.
const (
	ServerFlag  = "max-memory-bytes"
	RequestFlag = "max-request-memory-bytes"
	SessionFlag = "max-session-memory-bytes" // of lasting accounts
)

// Error reports that a request may not use more memory, because of its own limit or the Server's.
type Error struct {
	Server   bool  // the Server's limit: there may be room later
	Asked    int64 // bytes requested
	Held     int64 // bytes that the request, or all requests, hold
	Allowed  int64 // bytes that it, or all of them, may hold
	Received int64 // bytes of the request
	Session  bool  // the account is a lasting one
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Session && e.Server:
		return fmt.Sprintf("no memory for %d more bytes: the tensors, variables, graphs and messages of all sessions hold %d, and may hold %d (--%s)", e.Asked, e.Held, e.Allowed, ServerFlag)
	case e.Session:
		return fmt.Sprintf("no memory for %d more bytes: the tensors, variables, graphs and messages of the session hold %d, and may hold %d (--%s)", e.Asked, e.Held, e.Allowed, SessionFlag)
	case e.Server:
		return fmt.Sprintf("no memory for %d more bytes of this request: all requests together hold %d, and may hold %d (--%s); try again later",
			e.Asked, e.Held, e.Allowed, ServerFlag)
	}
	return fmt.Sprintf("the request needs %d bytes of memory besides the %d that it holds: one of %d bytes may hold %d (--%s)",
		e.Asked, e.Held, e.Received, e.Allowed, RequestFlag)
}

// GRPCStatus returns ResourceExhausted for sessions and if trying again may help, otherwise InvalidArgument.
func (e *Error) GRPCStatus() *status.Status {
	if e.Server || e.Session {
		return status.New(codes.ResourceExhausted, e.Error())
	}
	return status.New(codes.InvalidArgument, e.Error())
}
