//go:build unix

package diskspace

import (
	"io/fs"
	"syscall"
)

// written is how many bytes of a file are on its disk: fewer than its size if it has holes, or if the file system compresses; ok is
// false if it is unknown.
func written(info fs.FileInfo) (n int64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Blocks * 512, true
}
