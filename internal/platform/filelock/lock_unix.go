//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks the file for this process until it is closed. It returns ErrHeld if another process has locked it. On a file system without
// locks, the user has to coordinate processes.
func Try(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return nil
}
