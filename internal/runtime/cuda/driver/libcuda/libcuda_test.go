package libcuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestContractOnGPU runs the contract if there is a GPU.
func TestContractOnGPU(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	drivertest.Run(t, d)
}

// stub builds a libcuda over host memory against NVIDIA's header, if this machine has the header and a C compiler.
func stub(t *testing.T) *dylib.Library {
	t.Helper()
	headers, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia/cuda_runtime/include"))
	if err != nil || len(headers) == 0 {
		headers = []string{"/usr/local/cuda/include"}
	}
	if _, err := os.Stat(filepath.Join(headers[0], "cuda.h")); err != nil {
		t.Skipf("skipped: no cuda.h: %v", err)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("skipped: no C compiler: %v", err)
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O1", "-I", headers[0], "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/stub.c").CombinedOutput()
	if err != nil {
		t.Fatalf("build the stub: %v\n%s", err, out)
	}
	lib, err := dylib.Open(dylib.Driver, dir)
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// TestContractOnStub checks that every call passes the arguments that NVIDIA's header declares.
func TestContractOnStub(t *testing.T) {
	d, err := start(stub(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Devices()
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	want := driver.Info{Name: "Stub 1", Major: 9, Memory: 8 << 30, Multiprocessors: 132, SharedPerBlock: 227 << 10,
		ClockKHz: 1980000, MemoryClockKHz: 3201000, MemoryBusBits: 6144, ECC: true}
	if all[1] != want {
		t.Errorf("expected %+v, got %+v", want, all[1])
	}
	drivertest.Run(t, d)
}

func TestNoDevice(t *testing.T) {
	t.Setenv("STUB_NO_DEVICE", "1")
	lib := stub(t)
	d, err := start(lib)
	if err == nil && d != nil {
		t.Skip("skipped: without cgo C reads the environment that the process started with")
	}
	if !errors.Is(err, driver.ErrNoDevice) || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("expected %v, got %v", driver.ErrNoDevice, err)
	}
}

func TestLogOfABrokenModule(t *testing.T) {
	d, err := start(stub(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Load([]byte("int x;")); err == nil || !strings.Contains(err.Error(), "no .version") {
		t.Errorf("expected the log of the translator, got %v", err)
	}
}
