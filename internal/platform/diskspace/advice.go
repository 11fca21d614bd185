package diskspace

import (
	"errors"
	"strings"
	"syscall"
)

const (
	freeSpace  = "free some space and start again"
	raiseLimit = "raise the largest size of files (ulimit -f) and start again"
)

// Advises reports whether a text, such as the last line of another process, contains an Advice.
func Advises(text string) bool {
	return strings.Contains(text, freeSpace) || strings.Contains(text, raiseLimit)
}

// Advice says what a user can do if something could not be written for lack of space; "" for other errors.
func Advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return freeSpace
	case errors.Is(err, syscall.EFBIG):
		return raiseLimit
	}
	return ""
}
