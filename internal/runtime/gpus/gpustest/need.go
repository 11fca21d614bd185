package gpustest

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

// Need returns n GPUs: the first of this machine, or emulated GPUs if it has none. It skips the test if the machine has
// fewer.
func Need(tb testing.TB, n int) gpus.Source {
	tb.Helper()
	here, err := gpus.CUDA().Count()
	switch {
	case err != nil || here == 0:
		return Emulated(tb, n)
	case here < n:
		tb.Skipf("skipped: %d GPUs here, expected %d", here, n)
	}
	return Window(gpus.CUDA(), 0, n)
}

// Window returns n GPUs of a source, from number first on, as a process sees the GPUs of its CUDA_VISIBLE_DEVICES.
func Window(s gpus.Source, first, n int) gpus.Source { return window{s, first, n} }

type window struct {
	gpus.Source
	first, n int
}

// Count implements gpus.Source.
func (w window) Count() (int, error) { return w.n, nil }

// Open implements gpus.Source.
func (w window) Open(ctx context.Context, number int) (device.Device, error) {
	return w.Source.Open(ctx, w.first+number)
}
