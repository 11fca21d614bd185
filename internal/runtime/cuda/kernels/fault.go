package kernels

import "github.com/goestimator/goestimator/internal/runtime/cuda/driver"

// FaultBytes is the size of a fault record in memory of the GPU: four int64. The first is 0 until a kernel finds something
// wrong, then 1 + the number of its operation; the others are the index that is none, its position, and how many there are.
// Only the first fault is noted. Kernels that change variables do nothing once there is one.
const FaultBytes = 32

// Fault says where a kernel notes what is wrong, and as what operation.
type Fault struct {
	Record    driver.Ptr
	Operation int
}
