package cuda

import (
	"errors"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// Count returns how many GPUs this process may use. Its error is the error of GPUs.
func Count() (int, error) {
	all, err := GPUs()
	return len(all), err
}

// GPUs returns the GPUs that this process may use, in the order of their numbers. If there are none, the error says why. It
// is a driver.ErrNoDevice unless there is a driver and something is wrong with it.
func GPUs() ([]driver.Info, error) {
	if !held {
		return nil, fmt.Errorf("%w: %w", driver.ErrNoDevice, features.Need("gpu"))
	}
	d, err := openDriver()
	r := examine(d, err, os.LookupEnv)
	if r.Why == "" {
		return r.GPUs, nil
	}
	var missing *dylib.NotFoundError
	visible, set := os.LookupEnv(VisibleVariable)
	none := errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader) || errors.Is(err, driver.ErrNoDevice)
	if none || err == nil && r.Version >= oldest || set && visible == "" {
		return nil, fmt.Errorf("%w: %s", driver.ErrNoDevice, r.Why)
	}
	return nil, errors.New(r.Why)
}
