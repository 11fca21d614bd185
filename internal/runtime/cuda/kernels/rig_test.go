package kernels_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
	"github.com/goestimator/goestimator/internal/testkit"
)

// rig is one module on this machine's GPU, or on the emulated one.
type rig struct {
	t   *testing.T
	c   driver.Context
	s   driver.Stream
	lib *kernels.Library
}

// newRig loads the module of that name, or the given modules.
func newRig(t *testing.T, name string, more ...kernels.Module) *rig {
	t.Helper()
	modules := more
	for _, m := range kernels.Modules() {
		if m.Name == name {
			modules = append(modules, m)
		}
	}
	target := gpu(t)
	if target.Context == nil {
		target = emulated(t, modules)
	}
	r := &rig{t: t}
	r.c = target.Context
	r.s = must(r.c.NewStream())
	r.lib = must(kernels.Load(t.Context(), target, modules...))
	t.Cleanup(func() {
		if err := errors.Join(r.s.Close(), r.lib.Close(), r.c.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// gpu returns this machine's first GPU, or nothing if it has none.
func gpu(t *testing.T) (none kernels.Target) {
	t.Helper()
	d, err := libcuda.Open()
	if err != nil {
		return none
	}
	compiler, err := nvrtc.Open(dylib.WheelFolders(dylib.NVRTC, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		t.Logf("not on the GPU: %v", err)
		return none
	}
	all, err := d.Devices()
	if err != nil || len(all) == 0 {
		t.Logf("not on the GPU: %d devices, %v", len(all), err)
		return none
	}
	return kernels.Target{Context: must(d.Open(0)), Compiler: compiler, Arch: kernels.ArchOf(all[0], compiler.Version())}
}

// emulated returns the fake GPU with the modules compiled for the processor.
func emulated(t *testing.T, modules []kernels.Module) kernels.Target {
	t.Helper()
	d := fake.New(fake.Default)
	err := emulate.Build(t.Context(), d, t.TempDir(), modules...)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kernels.Target{Context: must(d.Open(0)), Compiler: emulate.Declared(modules), Arch: 90}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// up puts numbers into memory of the GPU.
func up[T any](r *rig, v []T) driver.Ptr {
	r.t.Helper()
	n := len(v) * int(unsafe.Sizeof(*new(T)))
	p := r.alloc(n)
	if n == 0 {
		return p
	}
	host := must(r.c.AllocHost(n))
	copy(host.Bytes(), unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), n))
	if err := errors.Join(r.s.Upload(p, host.Bytes()), r.s.Synchronize(), host.Free()); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) alloc(bytes int) driver.Ptr {
	r.t.Helper()
	p := must(r.c.Alloc(max(bytes, 1)))
	r.t.Cleanup(func() {
		if err := r.c.Free(p); err != nil {
			r.t.Error(err)
		}
	})
	return p
}

// down reads numbers back.
func down[T any](r *rig, p driver.Ptr, n int) []T {
	r.t.Helper()
	v := make([]T, n)
	if n == 0 {
		return v
	}
	bytes := n * int(unsafe.Sizeof(v[0]))
	host := must(r.c.AllocHost(bytes))
	if err := errors.Join(r.s.Download(host.Bytes(), p), r.s.Synchronize()); err != nil {
		r.t.Fatal(err)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), bytes), host.Bytes())
	if err := host.Free(); err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *rig) run(calls ...kernels.Call) {
	r.t.Helper()
	for _, c := range calls {
		if err := r.lib.Launch(r.s, c); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.s.Synchronize(); err != nil {
		r.t.Fatal(err)
	}
}

// numbers returns n standard normals for a seed.
func numbers(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// near compares with a tolerance relative to the larger of 1 and the expected number.
func near(t *testing.T, what string, want, got []float32, tolerance float64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: expected %d numbers, got %d", what, len(want), len(got))
	}
	for i, w := range want {
		a, b := float64(w), float64(got[i])
		if !testkit.Near(b, a, tolerance*max(1, math.Abs(a))) {
			t.Fatalf("%s: element %d of %d: expected %g, got %g", what, i, len(want), a, b)
		}
	}
}

func reduceModule() kernels.Module {
	for _, m := range kernels.Modules() {
		if m.Name == "reduce" {
			return m
		}
	}
	panic("no module reduce")
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
