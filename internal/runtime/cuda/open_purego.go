//go:build !cu

package cuda

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
)

// openDriver loads libcuda.
func openDriver() (driver.Driver, error) { return libcuda.Open() }
