package engine_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// gpu returns this machine's GPU, or one emulated by the processor.
func gpu(t *testing.T) *cuda.Device {
	t.Helper()
	if d, err := cuda.Open(t.Context(), 0); err == nil {
		return closed(t, d)
	}
	return emulated(t)
}

// closed closes the device at the end of the test.
func closed(t *testing.T, d *cuda.Device) *cuda.Device {
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// onEachGPU runs a test on this machine's GPU with own kernels only, then with each installed library of NVIDIA. Without a
// GPU it uses an emulated one.
func onEachGPU(t *testing.T, test func(t *testing.T, d *cuda.Device)) {
	own, err := cuda.OpenWith(t.Context(), 0, cuda.Libraries{})
	if err != nil {
		test(t, emulated(t))
		return
	}
	t.Run("own kernels", func(t *testing.T) { test(t, closed(t, own)) })
	for _, use := range []cuda.Libraries{{CuBLASLt: true}, {CuDNN: true}} {
		t.Run(fmt.Sprintf("%+v", use), func(t *testing.T) {
			d, err := cuda.OpenWith(t.Context(), 0, use)
			if err != nil {
				t.Fatal(err)
			}
			if closed(t, d).Using() != use {
				t.Skip("skipped: the library is not installed")
			}
			test(t, d)
		})
	}
}

// emulated is a GPU emulated by the processor.
func emulated(t *testing.T) *cuda.Device {
	t.Helper()
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

// collector records which kernels programs generate, and runs nothing.
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
	seed := testkit.Seed(t)
	all := &collector{}
	onEachGPU(t, func(t *testing.T, d *cuda.Device) {
		all = &collector{Device: d}
		engine.CompileContractOn(t, all)
		if err := d.Generate(t.Context(), all.chains...); err != nil {
			t.Fatal(err)
		}
		for _, s := range engine.ContractOn(t, d, seed) {
			t.Logf("on the host: %s", s)
		}
	})
	compiler, err := nvrtc.Open(dylib.WheelFolders(dylib.NVRTC, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		t.Logf("not compiled for a GPU: %v", err)
		return
	}
	if _, err := compiler.Compile(t.Context(), kernels.ChainModule("chains", all.chains...).Source(), 90); err != nil {
		t.Error(err)
	}
}

// TestTrainsOnGPUAsOnHost compares the variables after some steps.
func TestTrainsOnGPUAsOnHost(t *testing.T) {
	cpu := device.NewHost()
	defer cpu.Close()
	want := engine.TrainMLP(t, cpu, engine.Float32)
	onEachGPU(t, func(t *testing.T, d *cuda.Device) {
		for how, tolerance := range map[engine.Precision]float64{engine.Float32: 1e-5, engine.BF16Mixed: 2e-2} {
			got := engine.TrainMLP(t, d, how)
			for name, w := range want {
				near(t, fmt.Sprint(name, " with precision ", how), w, got[name], tolerance)
			}
		}
	})
}

func near(t *testing.T, what string, want, got *tensor.Tensor, tolerance float64) {
	t.Helper()
	g := tensor.Values[float32](got)
	for i, v := range tensor.Values[float32](want) {
		if d := math.Abs(float64(g[i] - v)); !(d <= tolerance*max(1, math.Abs(float64(v)))) {
			t.Fatalf("%s, element %d: expected %g, got %g", what, i, v, g[i])
		}
	}
}

// TestBadLabelOnGPU checks that a fault names its node and what is wrong, and that no variable changes in that step.
func TestBadLabelOnGPU(t *testing.T) {
	err := engine.TrainOnBadLabel(t, gpu(t))
	var label *host.LabelError
	if !errors.As(err, &label) || label.Row != 1 || label.Label != 3 || label.Classes != 3 || !strings.Contains(err.Error(), "xent") {
		t.Errorf("expected label 3 of row 1 of node xent, got %v", err)
	}
}

// TestBadIDOnGPU checks that a fault of an update prevents guarded updates, its own included.
func TestBadIDOnGPU(t *testing.T) {
	cpu := device.NewHost()
	defer cpu.Close()
	for _, dev := range []device.Device{cpu, gpu(t)} {
		err := engine.UpdateWithBadID(t, dev)
		var id *engine.IndexError
		if !errors.As(err, &id) || id.Index != 9 || !strings.Contains(err.Error(), "scatter") {
			t.Errorf("%s: expected id 9 of node scatter, got %v", dev.Kind(), err)
		}
	}
}

// TestRandomOnGPU checks that the GPU draws the same numbers as the host.
func TestRandomOnGPU(t *testing.T) {
	cpu := device.NewHost()
	defer cpu.Close()
	want, got := engine.RandomOn(t, cpu, 333), engine.RandomOn(t, gpu(t), 333)
	for i, w := range want {
		near(t, fmt.Sprint("stream ", i), w, got[i], 2e-7)
	}
}
