//go:build !linux

package kernels

// currentCPU returns -1: the operating system places threads.
func currentCPU() int { return -1 }

func leaveCPU(int) {}

func yieldCPU() {}
