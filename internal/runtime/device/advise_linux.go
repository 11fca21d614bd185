package device

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHugePages asks for large pages; it is as well without them.
func adviseHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// discardPages gives the pages that lie within b back to the system, which has zeros there when they are used again.
func discardPages(b []byte) bool {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if len(b) < skip+page {
		return false
	}
	return unix.Madvise(b[skip:skip+(len(b)-skip)/page*page], unix.MADV_DONTNEED) == nil
}
