package estimator

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// TestUnwritable: Evaluate ignores a read-only file system and a missing permission, but not a full disk.
func TestUnwritable(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  bool
	}{{syscall.EROFS, true}, {syscall.EACCES, true}, {fs.ErrPermission, true}, {syscall.ENOSPC, false}, {fs.ErrNotExist, false}} {
		if got := unwritable(fmt.Errorf("write events: %w", &fs.PathError{Op: "open", Path: "eval", Err: c.cause})); got != c.want {
			t.Errorf("%v: got %v", c.cause, got)
		}
	}
	if unwritable(nil) || unwritable(errors.New("other")) {
		t.Error("what is no such error is passed over")
	}
}
