package emulate_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// TestMachineKeepsWhatItCompiled checks that kernels behind macros are found, and that a second machine needs no compiler.
func TestMachineKeepsWhatItCompiled(t *testing.T) {
	source := nvrtc.Source{Name: "twice", Text: `
#define KERNEL extern "C" __global__ void
#define TWICE(name, T) KERNEL __launch_bounds__(64, sizeof(T) == 8 ? 1 : 2) twice_##name(T *x, long long n, float by) { x[threadIdx.x] *= 2; }
TWICE(f32, float)
TWICE(f64, double)`}
	dir := t.TempDir()
	var ptx [2]string
	for i := range ptx {
		m, err := emulate.NewMachine(fake.New(fake.Default), dir)
		if errors.Is(err, exec.ErrNotFound) {
			t.Skipf("skipped: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			t.Setenv("PATH", "")
		}
		out, err := m.Compile(t.Context(), source, 90)
		if errors.Is(err, dylib.ErrNoLoader) {
			t.Skipf("skipped: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		ptx[i] = string(out)
	}
	if ptx[0] != ptx[1] || !strings.Contains(ptx[0], ".entry twice_f32(.param .u64 a,.param .u64 a,.param .u64 a,)") || !strings.Contains(ptx[0], "twice_f64") {
		t.Errorf("got %q, then %q", ptx[0], ptx[1])
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("expected a library and its list, got %v, %v", files, err)
	}
}

func TestMachineRefuses(t *testing.T) {
	m, err := emulate.NewMachine(fake.New(fake.Default), t.TempDir())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Compile(t.Context(), nvrtc.Source{Name: "broken", Text: `extern "C" __global__ void broken(int *x) { nonsense }`}, 90)
	if err == nil || !strings.Contains(err.Error(), "emulate broken") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("expected the compiler's words, got %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := emulate.NewMachine(fake.New(fake.Default), file); err == nil {
		t.Error("a file for a folder: expected an error")
	}
}
