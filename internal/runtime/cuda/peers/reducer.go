package peers

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// Reducer sums over the GPUs that it was made for. One goroutine at a time may use it.
type Reducer interface {
	// AllReduce replaces every part by the sum of all parts. It is work of the parts' streams: it sums the results of
	// earlier work, and later work finds the sum. Part i is GPU i's. After an error the parts are undefined.
	AllReduce(parts []Part) error
	// Close waits for the work and frees everything.
	Close() error
}

// Part is one GPU's part of a sum.
type Part struct {
	Stream  driver.Stream
	Address driver.Ptr // aligned to the elements
	Count   int        // elements, the same for all
	Type    tensor.DType
}

// Device is a GPU that takes part in sums.
type Device struct {
	Context driver.Context
	Kernels *kernels.Library // with the module "peers"
}

// ErrParts means that parts cannot be summed: there are too few, or their sizes or types differ.
var ErrParts = errors.New("parts do not fit together")

// Check checks that parts can be summed by a Reducer for that many GPUs. Its error is ErrParts.
func Check(parts []Part, gpus int) error {
	if len(parts) != gpus {
		return fmt.Errorf("sum over GPUs: expected %d parts, got %d: %w", gpus, len(parts), ErrParts)
	}
	for i, p := range parts {
		switch first := parts[0]; {
		case !kernels.CanSumPeers(p.Type):
			return fmt.Errorf("sum over GPUs: %v has no sums: expected float32, float64, bfloat16 or int64: %w", p.Type, ErrParts)
		case p.Count < 0 || p.Count != first.Count || p.Type != first.Type:
			return fmt.Errorf("sum over GPUs: part %d: expected %d of %v as part 0, got %d of %v: %w", i, first.Count, first.Type, p.Count, p.Type, ErrParts)
		case p.Stream == nil:
			return fmt.Errorf("sum over GPUs: part %d has no stream: %w", i, ErrParts)
		}
	}
	return nil
}
