//go:build unix

package datasets

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock makes this process the only one that has the file, until that is closed. A file system without locks is the
// user's to coordinate.
func lock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	return nil
}
