package diskspace

import (
	"errors"
	"syscall"
)

// Advice says what a user can do where something could not be written for want of space; "" for other errors.
func Advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space and start again"
	case errors.Is(err, syscall.EFBIG):
		return "raise the largest size of files (ulimit -f) and start again"
	}
	return ""
}
