package emulate_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
)

// mistakes are kernels that may seem right if threads run in order and memory starts as zeros.
var mistakes = kernels.Module{Name: "mistakes", Text: `
template <class T> __device__ T *board() { __shared__ T all[64]; return all; }
extern "C" __global__ void early(int *x) {
  if (threadIdx.x == 40) return;
  __syncthreads();
  x[threadIdx.x] = 1;
}
extern "C" __global__ void two_lines(int *x) {
  if (threadIdx.x < 32) __syncthreads();
  else
    __syncthreads();
  x[threadIdx.x] = 1;
}
extern "C" __global__ void half_warp(int *x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_xor_sync(0xffffu, 1, 1);
}
extern "C" __global__ void no_barrier(int *x) {
  int *all = board<int>();
  all[threadIdx.x] = 1;
  x[threadIdx.x] = all[(threadIdx.x + 32) % 64] + all[threadIdx.x ^ 1];
}
extern "C" __global__ void warps_apart(int *x) {
  for (int i = 0; i <= threadIdx.x / 32; i++) x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
  __syncthreads();
}
`, Kernels: []kernels.Kernel{{Name: "early", Params: "p"}, {Name: "two_lines", Params: "p"}, {Name: "half_warp", Params: "p"}, {Name: "no_barrier", Params: "p"},
	{Name: "warps_apart", Params: "p"}}}

// TestMistakes checks which mistakes the emulated GPU reports, in every order.
func TestMistakes(t *testing.T) {
	d := fake.New(fake.Default)
	if err := emulate.Build(t.Context(), d, t.TempDir(), mistakes); errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"forward", "backward", "random"} {
		t.Setenv(emulate.OrderVariable, order)
		for _, c := range []struct {
			kernel string
			want   error
			right  bool // all elements are the same, and above zero
		}{{"early", emulate.ErrBarrier, false}, {"two_lines", emulate.ErrBarrier, false}, {"half_warp", emulate.ErrWarp, false}, {"no_barrier", nil, false}, {"warps_apart", nil, true}} {
			got, err := launch(t, d, c.kernel)
			if !errors.Is(err, c.want) {
				t.Errorf("%s, %s: expected %v, got %v", c.kernel, order, c.want, err)
			}
			same := true
			for _, v := range got {
				same = same && v == got[0] && v > 0
			}
			if c.want == nil && same != c.right {
				t.Errorf("%s, %s: got %v", c.kernel, order, got)
			}
		}
	}
}

// launch runs a kernel of mistakes with a block of 64 threads, and returns the low byte of each int.
func launch(t *testing.T, d *fake.Driver, kernel string) ([]byte, error) {
	t.Helper()
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := kernels.Load(t.Context(), kernels.Target{Context: c, Compiler: emulate.Declared{mistakes}, Arch: 90}, mistakes)
	if err != nil {
		t.Fatal(err)
	}
	s, err1 := c.NewStream()
	host, err2 := c.AllocHost(4 * 64)
	p, err3 := c.Alloc(4 * 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(lib.Launch(s, kernels.Call{Kernel: kernel, Launch: driver.Launch{Block: driver.Dim{X: 64}, Args: []driver.Arg{driver.Address(p)}}}),
		s.Download(host.Bytes(), p), s.Synchronize())
	var low []byte
	for i := 0; i < len(host.Bytes()); i += 4 {
		low = append(low, host.Bytes()[i])
	}
	err = errors.Join(err, s.Close())
	return low, err
}
