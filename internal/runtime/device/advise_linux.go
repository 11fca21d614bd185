package device

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHugePages asks for huge pages, which are optional.
func adviseHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// discardPages gives the whole pages within b back to the system. They read as zeros when used again.
func discardPages(b []byte) bool {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if len(b) < skip+page {
		return false
	}
	return unix.Madvise(b[skip:skip+(len(b)-skip)/page*page], unix.MADV_DONTNEED) == nil
}
