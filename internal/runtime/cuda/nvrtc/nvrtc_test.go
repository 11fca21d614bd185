package nvrtc

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const twice = `extern "C" __global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}`

// open loads the compiler from this machine or from the peers' Python environment.
func open(t *testing.T) Compiler {
	t.Helper()
	c, err := Open(dylib.WheelFolders(dylib.NVRTC, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		t.Skipf("skipped: no CUDA compiler: %v", err)
	}
	return c
}

func TestCompile(t *testing.T) {
	c := open(t)
	if c.Version() < 11000 {
		t.Errorf("version: got %d", c.Version())
	}
	for _, arch := range []Arch{80, 90} {
		ptx, err := c.Compile(t.Context(), Source{"twice", twice}, arch)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(ptx); !strings.Contains(s, ".entry twice(") || !strings.Contains(s, ".target sm_") {
			t.Errorf("sm_%d: got %s", arch, s)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	c := open(t)
	var ce *CompileError
	_, err := c.Compile(t.Context(), Source{"broken", "__global__ void f() { nonsense }"}, 80)
	if !errors.As(err, &ce) || !strings.Contains(ce.Log, "broken.cu(1)") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("expected the log with the place, got %v", err)
	}
	if _, err := c.Compile(t.Context(), Source{"zero", "a\x00b"}, 80); err == nil {
		t.Error("zero byte: expected an error")
	}
	if _, err := c.Compile(t.Context(), Source{"twice", twice}, 12345); err == nil {
		t.Error("no such architecture: expected an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compile(ctx, Source{"twice", twice}, 80); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
