//go:build amd64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// BestLevel returns the highest level that this CPU and operating system support.
func BestLevel() Level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasBMI2 && x.HasAVX2 && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	default:
		return Portable
	}
}
