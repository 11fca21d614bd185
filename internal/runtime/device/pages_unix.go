//go:build linux || darwin

package device

import "golang.org/x/sys/unix"

// mapPages returns at least n zeroed bytes in pages of their own, readable and writable.
func mapPages(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// protectPages makes pages reachable or not.
func protectPages(pages []byte, reachable bool) error {
	mode := unix.PROT_NONE
	if reachable {
		mode = unix.PROT_READ | unix.PROT_WRITE
	}
	return unix.Mprotect(pages, mode)
}

func unmapPages(pages []byte) error { return unix.Munmap(pages) }
