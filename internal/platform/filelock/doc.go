// Package filelock lets one process at a time use a file.
package filelock

import "errors"

// ErrHeld is the error for a file that another process has locked.
var ErrHeld = errors.New("another process uses the file")
