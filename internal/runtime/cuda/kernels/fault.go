package kernels

import "github.com/goestimator/goestimator/internal/runtime/cuda/driver"

// FaultBytes is the size of a fault record in memory of the GPU: four int64. The first is 0 until a kernel finds a fault,
// then 1 + the number of its operation. The others are the invalid index, its position, and the number of valid indices.
// Only the first fault is recorded. After a fault, kernels that change variables do nothing.
const FaultBytes = 32

// Fault says where a kernel records a fault, and for which operation.
type Fault struct {
	Record    driver.Ptr
	Operation int
}
