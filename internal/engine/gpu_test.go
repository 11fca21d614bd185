package engine_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/device/cuda"
	"github.com/goestimator/goestimator/internal/device/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/device/cuda/dylib"
	"github.com/goestimator/goestimator/internal/device/cuda/emulate"
	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	"github.com/goestimator/goestimator/internal/device/cuda/lower"
	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
)

// gpu is this machine's GPU, or one emulated by the processor.
func gpu(t *testing.T) *cuda.Device {
	t.Helper()
	if d, err := cuda.Open(t.Context(), 0); err == nil {
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
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), f.Leaks()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// collector notes which kernels programs generate, and runs nothing.
type collector struct {
	*cuda.Device
	chains []*kernels.Chain
}

// Lower implements engine.Accelerator.
func (c *collector) Lower(ops []*engine.Operation, _ engine.LowerOptions) (engine.Code, error) {
	for _, o := range ops {
		s, err := lower.Lower(&lower.Target{}, o)
		if err != nil {
			return nil, err
		}
		if g, ok := s.(lower.Generated); ok {
			c.chains = append(c.chains, g.Chain())
		}
	}
	return nothing{}, nil
}

type nothing struct{}

func (nothing) Workspace(int, int) int      { return 0 }
func (nothing) Segment([]int) device.Kernel { return nil }
func (nothing) Bind(int, bool) error        { return nil }
func (nothing) Close() error                { return nil }

// TestContractOnGPU runs every op on the GPU against the naive reference. Its kernels are compiled all at once.
func TestContractOnGPU(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes a minute: set GOESTIMATOR_ACCEPT=1")
	}
	d := gpu(t)
	all := &collector{Device: d}
	engine.CompileContractOn(t, all)
	if err := d.Generate(t.Context(), all.chains...); err != nil {
		t.Fatal(err)
	}
	for _, s := range engine.ContractOn(t, d) {
		t.Logf("on the host: %s", s)
	}
}

// TestTrainsOnGPUAsOnHost compares the variables after some steps.
func TestTrainsOnGPUAsOnHost(t *testing.T) {
	host := device.NewHost()
	defer host.Close()
	want, got := engine.TrainMLP(t, host), engine.TrainMLP(t, gpu(t))
	for name, w := range want {
		g := graph.Of[float32](got[name])
		for i, v := range graph.Of[float32](w) {
			if d := math.Abs(float64(g[i] - v)); !(d <= 1e-5*max(1, math.Abs(float64(v)))) {
				t.Fatalf("%s, element %d: expected %g, got %g", name, i, v, g[i])
			}
		}
	}
}
