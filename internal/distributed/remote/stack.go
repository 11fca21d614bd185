package remote

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// stackFrames is how many calls of a panic an error names.
const stackFrames = 8

// stackHead names the calls that led to a panic, the innermost first, for the function that recovers it.
func stackHead() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // without Callers, this function and its caller
	var calls []string
	for more := true; more && len(calls) < stackFrames; {
		var f runtime.Frame
		f, more = frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			calls = append(calls, fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line))
		}
	}
	return "at " + strings.Join(calls, ", ")
}
