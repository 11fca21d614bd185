package emulate_test

import (
	"errors"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reverse reverses each block's elements through shared memory and adds over warps.
var reverse = kernels.Module{Name: "reverse", Text: `
extern "C" __global__ void reverse(int *x, int by, float *sums) {
  __shared__ int all[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  all[threadIdx.x] = x[i] * by;
  __syncthreads();
  x[i] = all[blockDim.x - 1 - threadIdx.x];
  float s = x[i];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) sums[i / 32] = s;
}`, Kernels: []kernels.Kernel{{Name: "reverse", Params: "pip"}}}

func TestBlocksBarriersAndShuffles(t *testing.T) {
	d := fake.New(fake.Default)
	if err := emulate.Build(t.Context(), d, t.TempDir(), reverse); errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := kernels.Load(t.Context(), kernels.Target{Context: c, Compiler: emulate.Declared{reverse}, Arch: 90}, reverse)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	const n = 128
	host, err := c.AllocHost(4*n + 4*n/32)
	if err != nil {
		t.Fatal(err)
	}
	x := unsafe.Slice((*int32)(unsafe.Pointer(&host.Bytes()[0])), n)
	sums := unsafe.Slice((*float32)(unsafe.Pointer(&host.Bytes()[4*n])), n/32)
	for i := range x {
		x[i] = int32(i)
	}
	p, err1 := c.Alloc(4 * n)
	q, err2 := c.Alloc(4 * n / 32)
	err = errors.Join(err1, err2, s.Upload(p, host.Bytes()[:4*n]),
		lib.Launch(s, kernels.Call{Kernel: "reverse", Launch: driver.Launch{Grid: driver.Dim{X: 2}, Block: driver.Dim{X: 64},
			Args: []driver.Arg{driver.Address(p), driver.Int32(-1), driver.Address(q)}}}),
		s.Download(host.Bytes()[:4*n], p), s.Download(host.Bytes()[4*n:], q), s.Synchronize())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		if want := int32(-(i/64*64 + 63 - i%64)); v != want {
			t.Fatalf("element %d: expected %d, got %d", i, want, v)
		}
	}
	for i, v := range sums {
		w := i ^ 1 // the other warp of the block
		if want := float32(-(32*32*w + 31*16)); v != want {
			t.Errorf("warp %d: expected %g, got %g", i, want, v)
		}
	}
	if err := errors.Join(host.Free(), c.Free(p), c.Free(q), s.Close(), lib.Close(), c.Close(), d.Leaks()); err != nil {
		t.Error(err)
	}
}
