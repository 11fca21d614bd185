//go:build !amd64 || noasm

package kernels

// BestLevel returns the highest level that this CPU and operating system support: Portable in this build.
func BestLevel() Level { return Portable }

// pause would tell the CPU that the caller spins; in this build it does nothing.
func pause() {}
