package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

// TestFullDisk: whatever write failed, the error gives the advice once and repeats nothing.
func TestFullDisk(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "p.csv", Err: syscall.ENOSPC}
	const advice = ": free some space and start again"
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.Join(full, full), "write p.csv: no space left on device" + advice},
		{fmt.Errorf("--output: %w", errors.Join(full, full, fs.ErrClosed)), "--output: write p.csv: no space left on device; file already closed" + advice},
		{fmt.Errorf("save: %w%s; others are untouched", full, advice), "save: write p.csv: no space left on device" + advice + "; others are untouched"},
		{fs.ErrNotExist, "file does not exist"},
	} {
		if got := advised(oneLine(c.err), diskspace.Advice(c.err)); got != c.want {
			t.Errorf("got %q, expected %q", got, c.want)
		}
	}
}
