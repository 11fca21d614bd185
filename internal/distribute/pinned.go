package distribute

import "github.com/goestimator/goestimator/internal/runtime/device"

// Pinning is a Strategy whose batches may all go to one device with page-locked memory.
type Pinning interface {
	// HostMemory returns an allocator of memory from which batches are read without another copy; nil: ordinary memory
	// is as good. Its memory must be released before the strategy is closed.
	HostMemory() device.HostAllocator
}

var (
	_ Pinning = (*local)(nil)
	_ Pinning = (*replicated)(nil)
)

// HostMemory returns the device's host memory.
func (l *local) HostMemory() device.HostAllocator {
	h, _ := l.dev.(device.HostAllocator)
	return h
}

// HostMemory returns the host memory of the only replica's device. A device cannot use the
// host memory of another.
func (r *replicated) HostMemory() device.HostAllocator {
	if len(r.compute) != 1 {
		return nil
	}
	h, _ := r.compute[0].(device.HostAllocator)
	return h
}
