package device

import "golang.org/x/sys/unix"

// adviseHugePages asks for large pages; it is as well without them.
func adviseHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
