// Package failpoint names the places where a crash or an error is worth
// simulating. A disabled point costs one atomic load. Points are enabled by the
// environment variable GOESTIMATOR_FAILPOINTS, read at start, or by a test of
// the same process:
//
//	GOESTIMATOR_FAILPOINTS='checkpoint/data-synced=kill;checkpoint/data-created=error(no space)@2'
//
// An action is one of
//
//	error         the point returns an error
//	error(text)   the same, with this text
//	exit(code)    the process exits with this code, no deferred function runs
//	kill          the process kills itself with SIGKILL
//	stop          the process stops itself with SIGSTOP; continued, it first handles the signals that came meanwhile
//
// and may end in @N: only the N-th passage counts, the others do nothing.
package failpoint
