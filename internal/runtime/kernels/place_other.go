//go:build !linux

package kernels

// currentCPU returns -1: placement is left to the operating system.
func currentCPU() int { return -1 }

func leaveCPU(int) {}

func yieldCPU() {}
