package cudnn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/testkit"
)

// header has C's names of the values in use.
var header = map[string]int{
	"CUDNN_BACKEND_POINTWISE_DESCRIPTOR": kindPointwise, "CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR": kindConvolution, "CUDNN_BACKEND_ENGINE_DESCRIPTOR": kindEngine,
	"CUDNN_BACKEND_ENGINECFG_DESCRIPTOR": kindEngineConfig, "CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR": kindHeuristic, "CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR": kindPlan,
	"CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR": kindForward, "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR": kindFilterGradient,
	"CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR": kindInputGradient, "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR": kindPointwiseOp,
	"CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR": kindGraph, "CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR": kindVariantPack, "CUDNN_BACKEND_TENSOR_DESCRIPTOR": kindTensor,

	"CUDNN_DATA_FLOAT": dataFloat, "CUDNN_DATA_BFLOAT16": dataBFloat16, "CUDNN_CROSS_CORRELATION": crossCorrelation,
	"CUDNN_POINTWISE_ADD": pointwiseAdd, "CUDNN_POINTWISE_RELU_FWD": pointwiseRelu, "CUDNN_HEUR_MODE_A": heuristicA, "CUDNN_HEUR_MODE_FALLBACK": heuristicFallback,
	"CUDNN_NUMERICAL_NOTE_TENSOR_CORE": noteTensorCore, "CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS": noteDownConvert, "CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION": noteReducedSums,
	"CUDNN_NUMERICAL_NOTE_FFT": noteFFT, "CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC": noteNondeterminist, "CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6": noteWinograd6x6,
	"CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13": noteWinograd13x13, "CUDNN_STATUS_SUCCESS": statusSuccess, "CUDNN_STATUS_NOT_SUPPORTED": statusNotSupported,
	"CUDNN_STATUS_INTERNAL_ERROR": statusInternalError,

	"CUDNN_TYPE_HANDLE": typeHandle, "CUDNN_TYPE_DATA_TYPE": typeDataType, "CUDNN_TYPE_BOOLEAN": typeBoolean, "CUDNN_TYPE_INT64": typeInt64, "CUDNN_TYPE_FLOAT": typeFloat,
	"CUDNN_TYPE_VOID_PTR": typePointer, "CUDNN_TYPE_CONVOLUTION_MODE": typeConvolutionMode, "CUDNN_TYPE_HEUR_MODE": typeHeuristicMode, "CUDNN_TYPE_NUMERICAL_NOTE": typeNumericalNote,
	"CUDNN_TYPE_POINTWISE_MODE": typePointwiseMode, "CUDNN_TYPE_BACKEND_DESCRIPTOR": typeDescriptor,

	"CUDNN_ATTR_POINTWISE_MODE": pointwiseMode, "CUDNN_ATTR_POINTWISE_MATH_PREC": pointwisePrecision,
	"CUDNN_ATTR_CONVOLUTION_COMP_TYPE": convolutionCompute, "CUDNN_ATTR_CONVOLUTION_CONV_MODE": convolutionMode, "CUDNN_ATTR_CONVOLUTION_DILATIONS": convolutionDilations,
	"CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES": convolutionStrides, "CUDNN_ATTR_CONVOLUTION_POST_PADDINGS": convolutionPost, "CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS": convolutionPre,
	"CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS": convolutionDims, "CUDNN_ATTR_ENGINEHEUR_MODE": heuristicMode, "CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH": heuristicGraph,
	"CUDNN_ATTR_ENGINEHEUR_RESULTS": heuristicResults, "CUDNN_ATTR_ENGINECFG_ENGINE": configEngine, "CUDNN_ATTR_EXECUTION_PLAN_HANDLE": planHandle,
	"CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG": planConfig, "CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE": planWorkspace,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA": forwardAlpha, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA": forwardBeta, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC": forwardConv,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W": forwardW, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X": forwardX, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y": forwardY,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA": inputAlpha, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA": inputBeta, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC": inputConv,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W": inputW, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX": inputDX, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY": inputDY,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA": filterAlpha, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA": filterBeta, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC": filterConv,
	"CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW": filterDW, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X": filterX, "CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY": filterDY,
	"CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR": pointwiseDescriptor, "CUDNN_ATTR_OPERATION_POINTWISE_XDESC": pointwiseX, "CUDNN_ATTR_OPERATION_POINTWISE_BDESC": pointwiseB,
	"CUDNN_ATTR_OPERATION_POINTWISE_YDESC": pointwiseY, "CUDNN_ATTR_OPERATIONGRAPH_HANDLE": graphHandle, "CUDNN_ATTR_OPERATIONGRAPH_OPS": graphOps,
	"CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT": tensorAlignment, "CUDNN_ATTR_TENSOR_DATA_TYPE": tensorDataType, "CUDNN_ATTR_TENSOR_DIMENSIONS": tensorDims, "CUDNN_ATTR_TENSOR_STRIDES": tensorStrides,
	"CUDNN_ATTR_TENSOR_UNIQUE_ID": tensorID, "CUDNN_ATTR_TENSOR_IS_VIRTUAL": tensorVirtual, "CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS": packIDs,
	"CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS": packPointers, "CUDNN_ATTR_VARIANT_PACK_WORKSPACE": packWorkspace, "CUDNN_ATTR_ENGINE_NUMERICAL_NOTE": engineNotes,

	"(int)sizeof(cudnnDataType_t)": 4, "(int)sizeof(bool)": 1, "(int)sizeof(cudnnBackendDescriptor_t)": 8, "(int)sizeof(cudnnBackendNumericalNote_t)": 4,
}

// wheels returns the folder of the Python packages in the environment beside the sources.
func wheels(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia"))
	if err != nil || len(found) == 0 {
		t.Skip("skipped: no Python environment with NVIDIA's packages beside the sources")
	}
	return found[0]
}

// TestValuesAreThoseOfTheHeaders compiles a C program against cuDNN's headers.
func TestValuesAreThoseOfTheHeaders(t *testing.T) {
	root := wheels(t)
	include := []string{filepath.Join(root, "cudnn/include"), filepath.Join(root, "cuda_runtime/include")}
	cc, err := exec.LookPath("cc")
	if _, missing := os.Stat(filepath.Join(include[0], "cudnn_graph.h")); missing != nil || err != nil {
		t.Skipf("skipped: no headers or no C compiler: %v, %v", missing, err)
	}
	var b strings.Builder
	b.WriteString("#include <stdbool.h>\n#include <stdio.h>\n#include <cudnn_graph.h>\nint main() {\n")
	for name := range header {
		fmt.Fprintf(&b, "printf(\"%s=%%d\\n\", (int)(%s));\n", name, name)
	}
	b.WriteString("return 0; }\n")
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "values.c"), filepath.Join(dir, "values")
	// The Python packages do not have all headers of the runtime; cuDNN's headers need only two types of them.
	runtime := "typedef struct CUstream_st *cudaStream_t; typedef int cudaError_t;"
	if err := errors.Join(os.WriteFile(src, []byte(b.String()), 0o644), os.WriteFile(filepath.Join(dir, "cuda_runtime_api.h"), []byte(runtime), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-w", "-I", dir, "-I", include[0], "-I", include[1], "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != len(header) {
		t.Fatalf("expected %d values, got %d", len(header), len(lines))
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		if fmt.Sprint(header[name]) != value {
			t.Errorf("%s: expected %s, got %d", name, value, header[name])
		}
	}
}

// TestTheLibraryHasAllFunctions loads the library of the Python packages. Descriptors that need no GPU can be made.
func TestTheLibraryHasAllFunctions(t *testing.T) {
	wheels(t)
	p, err := load(dylib.WheelFolders(dylib.CuDNN, filepath.Join(testkit.Root(), ".venv"))...)
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cuDNN %d", p.getVersion.Call())
	b := &builder{native: &native{procs: p}}
	defer b.destroyAll()
	for _, p := range []problem{{direction: lower.Forward, bias: true, relu: true}, {direction: lower.InputGradient}, {direction: lower.FilterGradient}, {direction: lower.Forward, bfloat16: true, bias: true, relu: true}} {
		p.window = conv(8, 3, 2, 1, true).Window()
		for _, l := range p.layouts() {
			if b.operations(p, l); b.err != nil {
				t.Error(b.err)
			}
		}
	}
}

func TestAnAbsentLibrary(t *testing.T) {
	if old := new(dylib.NotFoundError); !errors.As(tooOld("/old/libcudnn.so.8", errors.New("version 8")), &old) || old.Looked[0] != "/old" {
		t.Errorf("a library that is too old: got %v", old)
	}
	for _, v := range []string{dylib.PathVariable, "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(v, "")
	}
	if _, err := dylib.Find(dylib.CuDNN); err == nil {
		t.Skip("skipped: this system has the library itself")
	}
	var missing *dylib.NotFoundError
	if _, err := Open(nil, nil); !errors.As(err, &missing) {
		t.Errorf("expected a *dylib.NotFoundError, got %v", err)
	}
}
