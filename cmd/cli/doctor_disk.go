//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// diskFree is the space, in bytes, that a user may still write at path; nil where it is not known.
func diskFree(path string) any {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
