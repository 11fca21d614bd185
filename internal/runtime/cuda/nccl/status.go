package nccl

import (
	"errors"
	"fmt"
)

// Error is what NCCL said to a call.
type Error struct {
	Call   string
	Result Result
	Text   string // of the library
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
	// ErrVersion tells that the library is too old.
	ErrVersion = errors.New("NCCL is too old: expected 2.17 or later")
	// ErrNotNative tells of contexts or streams that are not a real GPU's.
	ErrNotNative = errors.New("not a context or stream of a real GPU")
	// ErrStuck tells of a library that did not return. What it holds is lost to the process.
	ErrStuck = errors.New("the library has not returned")
)
