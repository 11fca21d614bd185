package cublaslt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
)

// headers returns -I options for NVIDIA's Python packages or the toolkit.
func headers(t *testing.T) []string {
	t.Helper()
	var options []string
	for _, part := range []string{"cublas", "cuda_runtime"} {
		found, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia", part, "include"))
		if err == nil && len(found) > 0 {
			options = append(options, "-I", found[0])
		}
	}
	if len(options) < 4 {
		options = []string{"-I", "/usr/local/cuda/include"}
	}
	if _, err := os.Stat(filepath.Join(options[1], "cublasLt.h")); err != nil {
		t.Skipf("skipped: no cublasLt.h: %v", err)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("skipped: no C compiler: %v", err)
	}
	return options
}

func compileC(t *testing.T, to string, options ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "cc", append(append(headers(t), "-I", "testdata/include", "-w", "-o", to), options...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
}

// TestNumbersOfTheHeader compares every constant and every size and offset in use with NVIDIA's headers.
func TestNumbersOfTheHeader(t *testing.T) {
	want := map[string]int{
		"CUDA_R_32F": typeFloat32, "CUDA_R_64F": typeFloat64, "CUDA_R_16BF": typeBFloat16,
		"CUBLAS_COMPUTE_32F": computeFloat32, "CUBLAS_COMPUTE_64F": computeFloat64, "CUBLAS_COMPUTE_32F_FAST_TF32": computeTF32,
		"CUBLAS_OP_N": 0, "CUBLAS_OP_T": transposed,
		"CUBLASLT_MATMUL_DESC_TRANSA": operationTransA, "CUBLASLT_MATMUL_DESC_TRANSB": operationTransB,
		"CUBLASLT_MATMUL_DESC_EPILOGUE": operationEpilogue, "CUBLASLT_MATMUL_DESC_BIAS_POINTER": operationBiasPointer,
		"CUBLASLT_EPILOGUE_RELU": epilogueRelu, "CUBLASLT_EPILOGUE_BIAS": epilogueBias, "CUBLASLT_EPILOGUE_RELU_BIAS": epilogueRelu | epilogueBias,
		"CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": layoutBatchCount, "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": layoutBatchStride,
		"CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": preferenceWorkspace, "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": preferenceReductions,
		"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES": preferenceAlignA, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES": preferenceAlignB,
		"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES": preferenceAlignC, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES": preferenceAlignD,
		"CUBLASLT_REDUCTION_SCHEME_NONE": 0, "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": reductionComputeType,
		"CUBLAS_STATUS_NOT_INITIALIZED": int(StatusNotInitialized), "CUBLAS_STATUS_ALLOC_FAILED": int(StatusAllocation),
		"CUBLAS_STATUS_INVALID_VALUE": int(StatusInvalidValue), "CUBLAS_STATUS_ARCH_MISMATCH": int(StatusArchitecture),
		"CUBLAS_STATUS_MAPPING_ERROR": int(StatusMapping), "CUBLAS_STATUS_EXECUTION_FAILED": int(StatusExecution),
		"CUBLAS_STATUS_INTERNAL_ERROR": int(StatusInternal), "CUBLAS_STATUS_NOT_SUPPORTED": int(StatusNotSupported), "CUBLAS_STATUS_LICENSE_ERROR": int(StatusLicense),
		"sizeof(cublasLtMatmulAlgo_t)": int(unsafe.Sizeof(algorithm{})), "sizeof(cublasLtMatmulHeuristicResult_t)": int(unsafe.Sizeof(candidate{})),
		"offsetof(cublasLtMatmulHeuristicResult_t, algo)":          int(unsafe.Offsetof(candidate{}.algorithm)),
		"offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)": int(unsafe.Offsetof(candidate{}.workspace)),
		"offsetof(cublasLtMatmulHeuristicResult_t, state)":         int(unsafe.Offsetof(candidate{}.state)),
		"sizeof(cublasLtHandle_t)":                                 8, "sizeof(cublasLtMatmulDesc_t)": 8, "sizeof(cublasLtMatrixLayout_t)": 8, "sizeof(cublasLtMatmulPreference_t)": 8,
		"sizeof(cublasStatus_t)": 4, "sizeof(cublasLtEpilogue_t)": 4, "sizeof(cublasOperation_t)": 4,
	}
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <cublasLt.h>\nint main(void) {\n")
	for name := range want {
		fmt.Fprintf(&c, "printf(\"%s=%%d\\n\", (int)(%s));\n", name, name)
	}
	c.WriteString("return 0;\n}\n")
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "numbers.c"), filepath.Join(dir, "numbers")
	if err := os.WriteFile(src, []byte(c.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	compileC(t, bin, src)
	out, err := exec.CommandContext(t.Context(), bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		got++
		if fmt.Sprint(want[name]) != value {
			t.Errorf("%s: expected %s, got %d", name, value, want[name])
		}
	}
	if got != len(want) {
		t.Errorf("expected %d numbers, got %d", len(want), got)
	}
}

// wheel returns NVIDIA's own library if this machine has it.
func wheel(t *testing.T) *native {
	t.Helper()
	n, err := bind(dylib.WheelFolders(dylib.CuBLASLt, filepath.Join(testkit.Root(), ".venv"))...)
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTheRealLibrary finds all functions, and lets the library check descriptors, which need no GPU.
func TestTheRealLibrary(t *testing.T) {
	n := wheel(t)
	if v := n.version.Call(); v < 110000 {
		t.Errorf("got version %d", v)
	}
	f := newFake()
	for _, e := range examples(&f.memory) {
		p := &plan{shape: shapeOf(e.Product, workspaceLimit)}
		if err := p.describe(n); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		if err := p.close(n); err != nil {
			t.Fatal(err)
		}
	}
	h, err := n.create(preference)
	if err != nil {
		t.Fatal(err)
	}
	for attribute, v := range map[int][]byte{preferenceReductions: bytes4(reductionComputeType), preferenceAlignA: bytes4(16), preferenceAlignB: bytes4(16),
		preferenceAlignC: bytes4(256), preferenceAlignD: bytes4(256), preferenceWorkspace: bytes8(workspaceLimit)} {
		if err := n.set(preference, h, attribute, v); err != nil {
			t.Error(err)
		}
	}
	var e *Error
	if err := n.set(preference, h, preferenceWorkspace, bytes4(1)); !errors.As(err, &e) || e.Status != StatusInvalidValue {
		t.Errorf("a value of the wrong size: expected status %d, got %v", StatusInvalidValue, err)
	}
	if err := n.destroy(preference, h); err != nil {
		t.Error(err)
	}
}
