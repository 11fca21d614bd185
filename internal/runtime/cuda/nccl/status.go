package nccl

import (
	"errors"
	"fmt"
)

// Error is an error of an NCCL call.
type Error struct {
	Call   string
	Result Result
	Text   string // the library's message
}

// Result is ncclResult_t.
type Result int

// Results that callers act upon.
const (
	ResultCUDA       Result = 1
	ResultSystem     Result = 2
	ResultInternal   Result = 3
	ResultArgument   Result = 4
	ResultUsage      Result = 5
	ResultRemote     Result = 6
	ResultInProgress Result = 7
)

// Error implements error.
func (e *Error) Error() string {
	hint := ""
	if e.Result == ResultRemote {
		hint = ": a process of the group has ended or is not reached"
	}
	return fmt.Sprintf("%s: %s (%d)%s", e.Call, e.Text, e.Result, hint)
}

var (
	// ErrVersion means that the library is too old.
	ErrVersion = errors.New("NCCL is too old: expected 2.17 or later")
	// ErrNotNative means that a context or stream is not a real GPU's.
	ErrNotNative = errors.New("not a context or stream of a real GPU")
	// ErrStuck means that the library did not return. Its resources are lost to the process.
	ErrStuck = errors.New("the library has not returned")
)
