//go:build unix

package diskspace

import (
	"io/fs"
	"syscall"
)

// written is how many bytes of a file are on its disk: fewer than its size where it has holes, or where the file system compresses;
// ok is false where it is not known.
func written(info fs.FileInfo) (n int64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Blocks * 512, true
}
