package cuda

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/device/cuda/cublaslt"
	"github.com/goestimator/goestimator/internal/device/cuda/cudnn"
	"github.com/goestimator/goestimator/internal/device/cuda/dylib"
	"github.com/goestimator/goestimator/internal/device/cuda/lower"
)

// useLibraries takes NVIDIA's libraries for products and convolutions where they are found. Without them own kernels do both.
func (d *Device) useLibraries() error {
	var missing *dylib.NotFoundError
	own := lower.OwnProducts(d.library)
	switch p, err := cublaslt.Open(d.context, own); {
	case err == nil:
		d.parts.Products, d.closers = p, append(d.closers, p.Close)
	case !errors.As(err, &missing):
		return fmt.Errorf("%s: %w", d.name, err)
	}
	switch c, err := cudnn.Open(d.context, d.library); {
	case err == nil:
		d.parts.Convs, d.closers = c, append(d.closers, c.Close)
	case !errors.As(err, &missing):
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}
