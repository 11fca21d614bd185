// Package filelock lets one process at a time use a file.
package filelock

import "errors"

// ErrHeld is the error of a lock that another process has.
var ErrHeld = errors.New("another process uses the file")
