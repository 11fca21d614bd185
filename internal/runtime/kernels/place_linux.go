package kernels

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// currentCPU returns the number of the CPU that the calling thread runs on, or -1.
func currentCPU() int {
	var cpu uint32
	_, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if e != 0 {
		return -1
	}
	return int(cpu)
}

// leaveCPU moves the calling thread off the given CPU if it runs there. The Linux scheduler often places a woken thread
// on its waker's core and leaves it there for many milliseconds, so that two threads are no faster than one. When
// leaveCPU returns, the thread has its old affinity mask.
func leaveCPU(cpu int) {
	if currentCPU() != cpu {
		return
	}
	var all unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil || all.Count() < 2 {
		return
	}
	others := all
	others.Clear(cpu)
	if others.Count() == 0 || unix.SchedSetaffinity(0, &others) != nil {
		return
	}
	// On failure the thread stays on the other CPUs, which is fine.
	_ = unix.SchedSetaffinity(0, &all)
}

// yieldCPU lets another thread of this CPU run: the thread that the caller waits for may be in its queue.
func yieldCPU() { _, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
