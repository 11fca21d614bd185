package eager

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// byFamilies are the ops with cases in families.json.gz.
const byFamilies = "TestFamilies compares recorded cases: see interop/eager_families.py, eager_signals.py, eager_quantized.py, eager_served.py, eager_matrices.py and eager_extremes.py"

func init() {
	for _, family := range []map[*ops.Def]maker{sparseMathOps, setOps, matrixOps, countingOps, poolSizeOps, complexOps, fourierOps, audioOps, ctcOps, unicodeOps, ngramOps, countsOps, specialOps, sequenceOps, fakeQuantOps, quantizeDequantizeOps, decompositionOps, spectralOps, warpOps, cellOps, clusterOps, inplaceOps, approxOps, tridiagonalOps} {
		for op := range family {
			unrecorded[op.Name] = byFamilies
		}
	}
	for op := range quantizedOps {
		unrecorded[op.Name] = "TestQuantized compares recorded cases: see interop/eager_quantized_graphs.py"
	}
	for op := range forestOps {
		unrecorded[op.Name] = "internal/imported/session's TestForests has models of TensorFlow Decision Forests"
	}
	for op := range boostedOps {
		unrecorded[op.Name] = "internal/imported/session's TestBoostedTrees has models of TensorFlow 2.8"
	}
	for op, why := range map[*ops.Def]string{ops.BatchFFT: oldNames, ops.BatchFFT2D: oldNames, ops.BatchFFT3D: oldNames, ops.BatchIFFT: oldNames, ops.BatchIFFT2D: oldNames, ops.BatchIFFT3D: oldNames, ops.Timestamp: "the time", ops.CTCLossV2: "TensorFlow has it on GPUs alone",
		ops.QuantizeAndDequantize: "removed from TensorFlow: QuantizeAndDequantizeV2 is recorded"} {
		unrecorded[op.Name] = why
	}
	for _, op := range []*ops.Def{ops.BesselI0, ops.BesselI0e, ops.BesselI1, ops.BesselI1e, ops.BesselJ0, ops.BesselJ1, ops.BesselK0, ops.BesselK0e, ops.BesselK1, ops.BesselK1e,
		ops.BesselY0, ops.BesselY1, ops.Ndtri} {
		unrecorded[op.Name] = byFamilies
	}
	for _, op := range []*ops.Def{ops.RaggedCross, ops.SparseBincount, ops.SerializeTensor, ops.ParseTensor, ops.RaggedTensorToVariant, ops.RaggedTensorFromVariant, ops.RaggedTensorToVariantGradient, ops.TensorListSplit, ops.TensorListScatterIntoExistingList, ops.TensorStridedSliceUpdate, ops.SparseMatMul} {
		unrecorded[op.Name] = byFamilies
	}
}

// oldNames are ops that TensorFlow only accepts in old graphs.
const oldNames = "the op of the name without Batch is recorded"

// familyDifferences has the recorded cases in which we differ from TensorFlow, and why.
var familyDifferences = map[string]string{
	"Cholesky of a singular matrix":        unset,
	"StringNGrams of splits []":            unset,
	"Cholesky of a negative matrix":        unset,
	"Xdivy complex64 by zeros":             zeroDivided,
	"Xdivy complex128 by zeros":            zeroDivided,
	"RFFT complex64 1009":                  ownRounding,
	"FFT complex64 1009":                   ownRounding,
	"CTCBeamSearchDecoder of ties float32": equalBeams,
	"CTCBeamSearchDecoder of ties float64": equalBeams,
	"DecodeJSONExample":                    packed,
	"CTCLoss of a label beyond float32":    unchecked,
	"CTCLoss of a label beyond float64":    unchecked,

	"SelfAdjointEigV2 [[1, 0], [0, nan]] float32": diagonalNaN,
	"SelfAdjointEigV2 [[1, 0], [0, nan]] float64": diagonalNaN,
	"SelfAdjointEigV2 [[inf, 0], [0, 1]] float32": diagonalNaN,
	"SelfAdjointEigV2 [[inf, 0], [0, 1]] float64": diagonalNaN,

	"TridiagonalSolve of zeros":                 unset,
	"TridiagonalSolve of zeros, without pivots": unset,
}

// Reasons why results differ.
const (
	packed      = "the same message: TensorFlow writes numbers one by one, we pack them"
	diagonalNaN = "we refuse all matrices with numbers that are not finite, TensorFlow all but some diagonal ones"
	zeroDivided = "C++ gives NaN, and Go infinities, for a complex number by zero"
	equalBeams  = "which of equally probable sequences a full beam keeps"
	ownRounding = "TensorFlow's transforms of large primes in float32 are off by 1e-5: the reference in float64 agrees with ours"
)

// TestFamilies: we compute and refuse what TensorFlow 2.15 does, for sparse tensors, sets and matrices, and for counts and strings.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range []string{"families", "signals", "texts", "records", "quantized", "served", "matrices", "extremes"} {
		for _, c := range readCases[goldenSequence](t, "testdata/"+file+".json.gz") {
			for _, s := range c.Steps {
				seen[s.Op] = true
			}
			if file == "extremes" { // TestExtremes compares them
				continue
			}
			err := c.compare(t, 1e-5)
			if why := familyDifferences[c.Name]; err != nil && why == "" {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	for op, why := range unrecorded {
		if why == byFamilies && !seen[op] {
			t.Errorf("%s has no recorded case: add one to interop/eager_families.py", op)
		}
	}
}

// TestCollectivesRefused: collective ops are refused by name, and the error says what to use instead.
func TestCollectivesRefused(t *testing.T) {
	for _, op := range []string{"CollectiveReduce", "CollectiveReduceV2", "CollectiveBcastSend", "CollectiveGather"} {
		_, err := Prepare(&graph.Node{Name: "n", Op: op})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), op) || !strings.Contains(err.Error(), "ParameterServerStrategy") {
			t.Errorf("%s: %v", op, err)
		}
	}
}
