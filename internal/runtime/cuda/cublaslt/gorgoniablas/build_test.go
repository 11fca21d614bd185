//go:build !cu

package gorgoniablas

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestBuildsWithTheTag builds this package against CUDA's headers and runs its tests on stubs of libcuda and libcublas that
// use ordinary memory.
func TestBuildsWithTheTag(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: compiles gorgonia.org/cu; set GOESTIMATOR_ACCEPT=1")
	}
	shim, err := filepath.Abs("../testdata/include")
	if err != nil {
		t.Fatal(err)
	}
	flags := "-I" + shim
	for _, part := range []string{"cublas", "cuda_runtime"} {
		found, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia", part, "include"))
		if err != nil || len(found) == 0 {
			t.Skipf("skipped: no headers of %s in .venv: pip install nvidia-cublas-cu12", part)
		}
		flags += " -I" + found[0]
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("skipped: no C compiler: %v", err)
	}
	dir := t.TempDir()
	for lib, src := range map[string]string{"libcuda.so": "../../driver/libcuda/testdata/stub.c", "libcublas.so": "testdata/stub.c"} {
		run(t, nil, "sh", "-c", "cc -w -shared -fPIC "+flags+" -o "+filepath.Join(dir, lib)+" "+src)
	}
	// gorgonia.org/cu refers to many more functions than it calls: the ones missing in the stubs stay unresolved.
	env := append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS="+flags, "LD_LIBRARY_PATH="+dir,
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
