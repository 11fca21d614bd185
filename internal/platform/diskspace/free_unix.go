//go:build linux || darwin

package diskspace

import "golang.org/x/sys/unix"

// Free is the space, in bytes, that a user may still write at path; ok is false if it is unknown.
func Free(path string) (n int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
