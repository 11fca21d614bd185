//go:build cu

package cuda

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/gorgoniacu"
)

// openDriver uses gorgonia.org/cu.
func openDriver() (driver.Driver, error) { return gorgoniacu.Open() }
