//go:build !cu

package gorgoniacu

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestBuildsWithTheTag builds this package against CUDA's headers and runs the driver's contract on the stub of
// driver/libcuda, which uses ordinary memory.
func TestBuildsWithTheTag(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: compiles gorgonia.org/cu; set GOESTIMATOR_ACCEPT=1")
	}
	headers, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia/cuda_runtime/include"))
	if err != nil || len(headers) == 0 {
		t.Skip("skipped: no CUDA headers in .venv: pip install nvidia-cuda-runtime-cu12")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("skipped: no C compiler: %v", err)
	}
	include, err := filepath.Abs("include")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "libcuda.so.1")
	run(t, nil, "cc", "-shared", "-fPIC", "-I", headers[0], "-Wl,-soname,libcuda.so.1", "-o", lib, "../libcuda/testdata/stub.c")
	if err := os.Symlink(lib, filepath.Join(dir, "libcuda.so")); err != nil {
		t.Fatal(err)
	}
	// gorgonia.org/cu refers to many more functions of libcuda than it calls: the ones missing in the stub stay unresolved.
	env := append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-I"+include+" -I"+headers[0], "LD_LIBRARY_PATH="+dir,
		"CGO_LDFLAGS=-L"+dir+" -Wl,--unresolved-symbols=ignore-all", "CGO_LDFLAGS_ALLOW=-Wl,--unresolved.*")
	run(t, env, "go", "vet", "-tags", "cu", ".")
	run(t, env, "go", "test", "-tags", "cu", "-count=1", ".")
}

func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
