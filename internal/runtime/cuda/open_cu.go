//go:build cu

package cuda

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/gorgoniacu"
)

// openDriver goes through gorgonia.org/cu.
func openDriver() (driver.Driver, error) { return gorgoniacu.Open() }
