package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

// ErrNone is wrapped by the error for a directory without checkpoints.
var ErrNone = errors.New("no checkpoint")

// ErrNotFound is wrapped by the error for a tensor that is not in a checkpoint.
var ErrNotFound = bundle.ErrNotFound

// CorruptError says which file, tensor and offset is damaged.
type CorruptError = bundle.CorruptError

// Attempt is a checkpoint that could not be loaded, and why.
type Attempt struct {
	Prefix string
	Err    error
}

// UnloadableError says that a directory has checkpoints, but none of them loads.
// The directory was not changed.
type UnloadableError struct {
	Dir   string
	Tried []Attempt // newest first
}

// Error implements error.
func (e *UnloadableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "none of the %d checkpoints in %s can be loaded: restore the files from a copy, "+
		"or choose another model_dir to start anew", len(e.Tried), e.Dir)
	for _, a := range e.Tried {
		fmt.Fprintf(&b, "; %s: %v", a.Prefix, a.Err)
	}
	return b.String()
}

// Unwrap returns the causes.
func (e *UnloadableError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// damaged reports whether err is about the state of the files, so that another
// checkpoint may load; other errors (permissions, too many open files, a network
// file system that is away) would affect it as well.
func damaged(err error) bool {
	var ce *CorruptError
	return errors.As(err, &ce) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO)
}

// saveError adds to the error of a failed save what the user can do.
func saveError(prefix string, err error) error {
	hint := diskspace.Advice(err)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		hint = "choose a model_dir that can be written to"
	}
	if hint != "" {
		hint = ": " + hint
	}
	return fmt.Errorf("save checkpoint %s: %w%s; the checkpoints before it are untouched", prefix, err, hint)
}
