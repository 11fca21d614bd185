//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try makes this process the only one that has the file, until that is closed. It returns ErrHeld where another one has it. A file system without
// locks is the user's to coordinate.
func Try(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return nil
}
