package eager

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// Reasons why 16-bit results differ from TensorFlow's.
const (
	inSteps   = "TensorFlow rounds each step in 16 bits; we compute in float32 and round the result"
	nearTie   = "a function of float32 that is off in its last place decides where a tie goes"
	zeroSign  = "TensorFlow gives a zero the other sign"
	uncertain = "what TensorFlow writes there depends on what was in memory, or on how NaN compares"
)

// halfDifferences has the ops whose 16-bit results may differ from TensorFlow's, and why.
var halfDifferences = opReasons(map[string]string{
	inSteps: `AccumulateNV2 AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BiasAddGrad Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2
		Conv3DBackpropInputV2 Cross CumulativeLogsumexp DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput
		Einsum HSVToRGB InvGrad LRN LRNGrad MaxPool3DGrad MaxPoolGrad MaxPoolGradWithArgmax Qr RGBToHSV ReciprocalGrad ResizeNearestNeighborGrad ScatterNd
		SegmentMean SegmentProd SegmentSum SigmoidGrad SoftmaxCrossEntropyWithLogits SparseSegmentSqrtNGrad SparseSoftmax
		SparseSoftmaxCrossEntropyWithLogits SqrtGrad TensorScatterAdd TensorScatterSub UnsortedSegmentProd UnsortedSegmentSum _UnaryOpsComposition`,
	nearTie: "Conv2D Digamma FusedBatchNormV2 FusedBatchNormV3 Rsqrt RsqrtGrad FloorDiv",
	zeroSign: `BatchMatMul Relu6Grad ReluGrad Sign SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum
		SparseSegmentSumWithNumSegments Xdivy Xlog1py Xlogy`,
	uncertain: "Lgamma LowerBound UpperBound TopKV2",
})

// opReasons returns a map of reasons by op.
func opReasons(names map[string]string) map[string]string {
	all := map[string]string{}
	for why, ops := range names {
		for _, op := range strings.Fields(ops) {
			all[op] = why
		}
	}
	return all
}

// TestHalves: float16 and bfloat16 results match TensorFlow 2.15 to the last bit. The ops of halfDifferences stay close.
func TestHalves(t *testing.T) {
	defer kernels.SetLevel(kernels.BestLevel())
	kernels.SetLevel(kernels.AVX2) // the level of the processor that computed TensorFlow's results
	types, differ := map[probe]bool{}, map[string]bool{}
	for _, c := range readCases[goldenCase](t, "testdata/halves.json.gz") {
		n, in := c.node(t)
		out, err := Run(context.Background(), n, in, nil)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		why := halfDifferences[c.Op]
		if strings.HasPrefix(c.Op, "FusedBatchNorm") {
			c.Outputs = c.Outputs[:1] // the others are uninitialized, or statistics for a gradient
		}
		for i := range c.Outputs {
			want := c.Outputs[i].tensor()
			if want.DType.Half() {
				types[probe{c.Op, "", want.DType}] = true
			}
			err := sameHalves(out[i].T, want)
			switch {
			case err != nil && why == "":
				t.Errorf("%s, output %d: %v", c.Name, i, err)
			case err != nil && !strings.Contains(c.Name, "any bits") && !strings.Contains(c.Name, "specials") && why != uncertain && !closeBy(out[i].T, want):
				t.Errorf("%s, output %d: got %s, expected %s", c.Name, i, describe(out[i].T), describe(want))
			case err != nil:
				differ[c.Op] = true
			}
		}
	}
	for op, why := range halfDifferences {
		if !differ[op] && why == inSteps {
			t.Errorf("%s does not differ any more", op)
		}
	}
	if len(types) < 300 {
		t.Errorf("got %d ops and types, expected hundreds", len(types))
	}
}

// sameHalves compares tensors, 16-bit ones to the last bit. Where TensorFlow flushes a number to 0, such as a subnormal bfloat16, 0 is equal too.
func sameHalves(got, want *tensor.Tensor) error {
	if got == nil || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %s, expected %s", describe(got), describe(want))
	}
	if !want.DType.Half() {
		return near(got, want, 1e-5)
	}
	for i := range want.Len() {
		a, b := got.Float(i), want.Float(i)
		switch {
		case a == b && math.Signbit(a) == math.Signbit(b), math.IsNaN(a) && math.IsNaN(b):
		case want.DType == tensor.BFloat16 && math.Abs(a) < 0x1p-126 && math.Abs(b) < 0x1p-126:
		default:
			return fmt.Errorf("element %d is %v, expected %v", i, a, b)
		}
	}
	return nil
}

// closeBy reports whether the elements of a tensor differ by less than a sixteenth of the largest.
func closeBy(got, want *tensor.Tensor) bool {
	if got == nil || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return false
	}
	largest := 0.0
	for i := range want.Len() {
		if v := math.Abs(want.Float(i)); !math.IsInf(v, 0) {
			largest = max(largest, v)
		}
	}
	for i := range want.Len() {
		if a, b := got.Float(i), want.Float(i); !testkit.Near(a, b, largest/16) {
			return false
		}
	}
	return true
}

// TestRoundings: the roundings in float32 equal the conversions back and forth, for any float32.
func TestRoundings(t *testing.T) {
	for d, r := range roundings {
		there, back := convert.Between(tensor.Float32, d), convert.Between(d, tensor.Float32)
		for i := uint64(0); i < 1<<32; i += 9973 {
			x := math.Float32frombits(uint32(i))
			v, h, w := tensor.Scalar(x), tensor.New(d, 1), tensor.New(tensor.Float32, 1)
			there(h.Bytes, v.Bytes)
			back(w.Bytes, h.Bytes)
			if got, want := r(x), tensor.Values[float32](w)[0]; math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v: %v is rounded to %v, expected %v", d, x, got, want)
			}
		}
	}
}
