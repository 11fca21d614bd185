package cuda

import (
	"errors"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// Count returns how many GPUs this process may use. Where there are none the error tells why; it is a driver.ErrNoDevice
// unless a driver is there and something is the matter with it.
func Count() (int, error) {
	d, err := openDriver()
	r := examine(d, err, os.LookupEnv)
	if r.Why == "" {
		return len(r.GPUs), nil
	}
	var missing *dylib.NotFoundError
	visible, set := os.LookupEnv(VisibleVariable)
	none := errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader) || errors.Is(err, driver.ErrNoDevice)
	if none || err == nil && r.Version >= oldest || set && visible == "" {
		return 0, fmt.Errorf("%w: %s", driver.ErrNoDevice, r.Why)
	}
	return 0, errors.New(r.Why)
}
