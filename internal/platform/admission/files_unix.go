//go:build unix

package admission

import "syscall"

// openFiles is how many files the process may have open; 0: unknown.
func openFiles() int64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int64(min(uint64(r.Cur), 1<<40))
}
