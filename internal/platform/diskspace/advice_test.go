package diskspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

func TestAdvice(t *testing.T) {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if diskspace.Advice(errors.Join(fmt.Errorf("export: %w", &fs.PathError{Op: "write", Path: "x", Err: e}))) == "" {
			t.Errorf("%v: there is no advice", e)
		}
		if text := fmt.Sprintf("goestimator: %v: %s", e, diskspace.Advice(e)); !diskspace.Advises(text) || diskspace.Advises(e.Error()) {
			t.Errorf("the advice is not found in %q, or without it", text)
		}
	}
	for _, e := range []error{nil, syscall.EACCES, fs.ErrNotExist} {
		if got := diskspace.Advice(e); got != "" {
			t.Errorf("%v: got %q, expected nothing", e, got)
		}
	}
}
