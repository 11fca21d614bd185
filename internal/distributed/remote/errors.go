package remote

import "errors"

var (
	// ErrCancelled is the error of calls that ended, before or while they ran, because of another call's
	// error.
	ErrCancelled = errors.New("the function is cancelled: schedule it again")
	// ErrFunction is wrapped by the errors that functions return, which say where they ran.
	ErrFunction = errors.New("function failed")
	// ErrServersLost is wrapped if functions found their variables gone: a parameter server was lost, or
	// came back without them.
	ErrServersLost = errors.New("the parameter servers have lost the variables")
	// ErrWorkerLost is wrapped by a Session's errors if it is over: its worker was not reached, or has
	// restarted. The call is run again.
	ErrWorkerLost = errors.New("the worker is lost")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the coordinator is closed")
)
