package cuda

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/cublaslt"
	"github.com/goestimator/goestimator/internal/runtime/cuda/cudnn"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
)

// Libraries says which of NVIDIA's libraries a device uses if they are found. Own kernels do the rest.
type Libraries struct {
	CuBLASLt bool // matrix products
	CuDNN    bool // convolutions
}

// AllLibraries are the libraries that Open uses.
var AllLibraries = Libraries{CuBLASLt: true, CuDNN: true}

// useLibraries opens the libraries that are wanted and found.
func (d *Device) useLibraries(use Libraries) error {
	if use.CuBLASLt {
		p, err := cublaslt.Open(d.context, lower.OwnProducts(d.library))
		if err == nil {
			d.parts.Products, d.closers, d.using.CuBLASLt = p, append(d.closers, p.Close), true
		} else if err := d.unlessMissing(err); err != nil {
			return err
		}
	}
	if use.CuDNN {
		c, err := cudnn.Open(d.context, d.library)
		if err == nil {
			d.parts.Convs, d.closers, d.using.CuDNN = c, append(d.closers, c.Close), true
		} else if err := d.unlessMissing(err); err != nil {
			return err
		}
	}
	return nil
}

// unlessMissing returns nil if the error is a missing library.
func (d *Device) unlessMissing(err error) error {
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	return fmt.Errorf("%s: %w", d.name, err)
}

// Using returns which of NVIDIA's libraries the device uses.
func (d *Device) Using() Libraries { return d.using }
