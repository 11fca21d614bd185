package distribute

import "github.com/goestimator/goestimator/internal/runtime/device"

// Pinning is a Strategy whose batches may all go to one device that has page-locked memory.
type Pinning interface {
	// HostMemory is where batches are read from without another copy; nil: ordinary memory is as good. Its memory is given
	// back before the strategy is closed.
	HostMemory() device.HostAllocator
}

var (
	_ Pinning = (*local)(nil)
	_ Pinning = (*replicated)(nil)
)

// HostMemory is the device's.
func (l *local) HostMemory() device.HostAllocator {
	h, _ := l.dev.(device.HostAllocator)
	return h
}

// HostMemory is the host memory of the only replica's device. With several devices, one
// cannot use another's.
func (r *replicated) HostMemory() device.HostAllocator {
	if len(r.compute) != 1 {
		return nil
	}
	h, _ := r.compute[0].(device.HostAllocator)
	return h
}
