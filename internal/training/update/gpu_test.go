package update

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// gpu returns this machine's GPU, or one that the CPU emulates, until the test ends.
func gpu(t *testing.T) device.Device {
	t.Helper()
	if d, err := cuda.Open(t.Context(), 0); err == nil {
		t.Cleanup(func() { d.Close() })
		return d
	}
	f := fake.New(fake.Default)
	machine, err := emulate.NewMachine(f, emulate.Default())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cuda.New(t.Context(), c, cuda.Parts{Name: "the emulated GPU", Compiler: machine, Arch: 90})
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestEveryCombinationOnGPU is TestEveryCombination on a GPU, which must have all ops.
func TestEveryCombinationOnGPU(t *testing.T) {
	testkit.NotConcurrent(t)
	a, d := tensorflow(t), gpu(t)
	for _, c := range a.Cases {
		c.train(t, d, tensor.Float32, a.Dense).near(t, c.String()+" dense", c.Dense, 1e-4)
		c.train(t, d, tensor.Float32, a.Sparse).near(t, c.String()+" sparse", c.Sparse, 1e-4)
	}
}
