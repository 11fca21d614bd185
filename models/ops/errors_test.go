package ops_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// bench holds operands of several types and shapes for wrong uses.
type bench struct {
	*models.Builder
	row, matrix, image, ids, flags *G.Node
}

func TestWrongUsesAreNamed(t *testing.T) {
	cases := []struct {
		want string
		use  func(b bench)
	}{
		{"MatMul: a has shape (4): expected rank 2", func(b bench) { ops.MatMul(b, b.row, b.matrix) }},
		{"MatMul: shapes (4, 3) and (4, 3)", func(b bench) { ops.MatMul(b, b.matrix, b.matrix) }},
		{"MatMul: operand 1 is nil", func(b bench) { ops.MatMul(b, b.matrix, nil) }},
		{"BatchMatMulV2: shapes (4, 3) and (4, 3)", func(b bench) { ops.BatchMatMul(b, b.matrix, b.matrix, false, false) }},
		{"BatchMatMulV2: shapes (4, 6, 6, 2) and (6, 4, 2, 6)", func(b bench) {
			ops.BatchMatMul(b, b.image, ops.Reshape(b, b.image, 6, 4, 2, 6), false, false)
		}},
		{"BiasAdd: shape (4, 3) and bias (4)", func(b bench) { ops.BiasAdd(b, b.matrix, b.row) }},
		{"AddV2: operand 0 is float32, operand 1 is int64: expected one type", func(b bench) { ops.Add(b, b.row, b.ids) }},
		{"Mul: shapes (4, 3) and (4) do not broadcast", func(b bench) { ops.Mul(b, b.matrix, b.row) }},
		{"Relu: operand is int64: expected float32 or float64", func(b bench) { ops.Relu(b, b.ids) }},
		{"RealDiv: operand is int64", func(b bench) { ops.Div(b, b.ids, b.ids) }},
		{"LogicalAnd: operand 1 is float32: expected bool", func(b bench) { ops.LogicalAnd(b, b.flags, b.row) }},
		{"SelectV2: operand 0 is float32: expected bool", func(b bench) { ops.Where(b, b.row, b.row, b.row) }},
		{"Sum: axis 2: expected -2..1", func(b bench) { ops.Sum(b, b.matrix, ops.Axes(2)) }},
		{"Sum: axis -1 is given twice", func(b bench) { ops.Sum(b, b.matrix, ops.Axes(1, -1)) }},
		{"Mean: 2 reductions", func(b bench) { ops.Mean(b, b.matrix, ops.Axes(0), ops.Axes(1)) }},
		{"Reshape: [5 -1] does not hold the 12 elements", func(b bench) { ops.Reshape(b, b.matrix, 5, -1) }},
		{"Reshape: [-1 -1]", func(b bench) { ops.Reshape(b, b.matrix, -1, -1) }},
		{"Squeeze: dimension 0 of shape (4, 3): expected 1", func(b bench) { ops.Squeeze(b, b.matrix, 0) }},
		{"Transpose: [0 0]: expected a permutation", func(b bench) { ops.Transpose(b, b.matrix, 0, 0) }},
		{"Transpose: [0]: expected a permutation", func(b bench) { ops.Transpose(b, b.matrix, 0) }},
		{"Slice: begin [0 2] and size [-1 2] lie outside", func(b bench) { ops.Slice(b, b.matrix, []int{0, 2}, []int{-1, 2}) }},
		{"Pad: 1 paddings for shape (4, 3)", func(b bench) { ops.Pad(b, b.matrix, [][2]int{{}}) }},
		{"Tile: multiples [0 1]", func(b bench) { ops.Tile(b, b.matrix, 0, 1) }},
		{"ConcatV2: shapes (4, 3) and (4, 6, 6, 2)", func(b bench) { ops.Concat(b, 1, b.matrix, b.image) }},
		{"ConcatV2: no operands", func(b bench) { ops.Concat(b, 0) }},
		{"Conv2D: images (4, 6, 6, 2) have 2 channels", func(b bench) { ops.Conv2D(b, b.image, b.image, [2]int{1, 1}, ops.Same) }},
		{"Conv2D: filter has shape (4, 3): expected rank 4", func(b bench) { ops.Conv2D(b, b.image, b.matrix, [2]int{1, 1}, ops.Same) }},
		{"MaxPool: a window of [7 7] does not fit", func(b bench) { ops.MaxPool(b, b.image, [2]int{7, 7}, [2]int{1, 1}, ops.Valid) }},
		{"MaxPool: explicit padding", func(b bench) { ops.MaxPool(b, b.image, [2]int{2, 2}, [2]int{1, 1}, ops.Explicit(1, 1, 1, 1)) }},
		{"AvgPool: window [0 2]", func(b bench) { ops.AvgPool(b, b.image, [2]int{0, 2}, [2]int{1, 1}, ops.Valid) }},
		{"FusedBatchNormV3: operand 1 has shape (4): expected [2]", func(b bench) {
			ops.FusedBatchNorm(b, b.image, ops.Norm{Scale: b.row, Offset: b.row, Training: true})
		}},
		{"UnsortedSegmentSum: ids of shape (3, 4) for data of shape (4, 3)", func(b bench) {
			ops.UnsortedSegmentSum(b, b.matrix, ops.Cast(b, ops.Transpose(b, b.matrix, 1, 0), tensor.Int32), 4)
		}},
		{"UnsortedSegmentMax: ids are float32: expected int32 or int64", func(b bench) { ops.UnsortedSegmentMax(b, b.matrix, b.row, 4) }},
		{"UnsortedSegmentProd: -1 segments", func(b bench) { ops.UnsortedSegmentProd(b, b.row, b.ids, -1) }},
		{"UnsortedSegmentMean: operand is int64", func(b bench) { ops.UnsortedSegmentMean(b, b.ids, b.ids, 2) }},
		{"Cholesky: shape (4, 3): expected square matrices", func(b bench) { ops.Cholesky(b, b.matrix) }},
		{"MatrixInverse: shape (4): expected square matrices", func(b bench) { ops.MatrixInverse(b, b.row) }},
		{"RandomUniformIn: from 1 to 1: expected", func(b bench) { ops.RandomUniformIn(b, b.row, 1, 1) }},
		{"RandomNormal: mean 0, standard deviation -1: expected", func(b bench) { ops.RandomNormal(b, b.row, 0, -1) }},
		{"RandomInts: type float32: expected int32 or int64", func(b bench) { ops.RandomInts(b, b.row, 0, 1, tensor.Float32) }},
		{"RandomInts: from 3 to 3: expected numbers of type int32", func(b bench) { ops.RandomInts(b, b.row, 3, 3, tensor.Int32) }},
		{"TensorScatterUpdate: updates have shape (4, 3): expected [4]", func(b bench) {
			ops.TensorScatterUpdate(b, b.row, ops.ExpandDims(b, b.ids, 1), b.matrix)
		}},
		{"GatherV2: indices are float32", func(b bench) { ops.Gather(b, b.matrix, b.row) }},
		{"OneHot: float32 indices", func(b bench) { ops.OneHot(b, b.row, 3, tensor.Float32) }},
		{"TopKV2: k is 4: expected 1..3", func(b bench) { ops.TopK(b, b.matrix, 4) }},
		{"InTopKV2", func(b bench) { ops.InTopK(b, b.matrix, b.row, 1) }},
		{"labels are float32: expected int32 or int64", func(b bench) { ops.SparseSoftmaxCrossEntropyWithLogits(b, b.row, b.matrix) }},
		{"SoftmaxCrossEntropyWithLogits: labels (4) and logits (4, 3)", func(b bench) { ops.SoftmaxCrossEntropyWithLogits(b, b.row, b.matrix) }},
		{"Dropout: rate 1: expected 0 <= rate < 1", func(b bench) { ops.Dropout(b, b.row, 1) }},
		{"Dropout: rate NaN: expected", func(b bench) { ops.Dropout(b, b.row, math.NaN()) }},
		{"Const: no scalar of type bool", func(b bench) { ops.Scalar(b, tensor.Bool, 1) }},
		{"Const: the tensor is nil", func(b bench) { ops.Constant(b, nil) }},
		{"Const: float32 tensor of shape [3] holds 0 bytes", func(b bench) { ops.Constant(b, &tensor.Tensor{DType: tensor.Float32, Shape: []int{3}}) }},
		{"Conv2D: padding [-1 0 0 0]: expected >= 0", func(b bench) {
			kernel := ops.Constant(b, tensor.New(tensor.Float32, 1, 1, 2, 1))
			ops.Conv2D(b, b.image, kernel, [2]int{1, 1}, ops.Explicit(-1, 0, 0, 0))
		}},
		{"Split: sizes [2 -1 2] of dimension 1 of shape (4, 3): expected sizes >= 1", func(b bench) { ops.SplitSizes(b, b.matrix, []int{2, -1, 2}, 1) }},
		{"Split: 0 parts", func(b bench) { ops.Split(b, b.matrix, 0, 1) }},
		{"selects nothing", func(b bench) { ops.StridedSlice(b, b.matrix, ops.All, ops.Range{From: ops.End, To: ops.End}) }},
		{"selects nothing", func(b bench) { ops.StridedSlice(b, b.matrix, ops.All, ops.Range{From: 1 << 32, To: ops.End}) }},
		{"_Attention: queries (4, 2, 3, 12), keys (4, 3, 4, 6)", func(b bench) {
			ops.Attention(b, ops.Reshape(b, b.image, 4, 2, 3, 12), ops.Reshape(b, b.image, 4, 3, 4, 6), ops.Reshape(b, b.image, 4, 3, 4, 6), ops.Attending{})
		}},
		{"_Attention: rate NaN", func(b bench) { ops.Attention(b, b.image, b.image, b.image, ops.Attending{Dropout: math.NaN()}) }},
		{"_Attention: operand 0 is float32: expected bool", func(b bench) { ops.Attention(b, b.image, b.image, b.image, ops.Attending{Mask: b.image}) }},
		{"_Attention: the mask has shape (4): expected rank 4, broadcasting to [4 6 6 6]", func(b bench) {
			ops.Attention(b, b.image, b.image, b.image, ops.Attending{Mask: b.flags})
		}},
		{"Cast: type bfloat16", func(b bench) { ops.Cast(b, b.row, tensor.BFloat16) }},
	}
	for _, c := range cases {
		_, err := models.Build(models.Options{Batch: 4}, func(m *models.Builder) error {
			b := bench{m, m.Input("row", tensor.Float32, 4), m.Input("matrix", tensor.Float32, 4, 3), m.Input("image", tensor.Float32, 4, 6, 6, 2),
				m.Input("ids", tensor.Int64, 4), m.Input("flags", tensor.Bool, 4)}
			m.Scope("here", func() { c.use(b) })
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), "here: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error in scope here with %q", err, c.want)
		}
	}
}

// After the first error every op returns nil and takes nil.
func TestOpsTolerateFailure(t *testing.T) {
	for _, c := range cases() {
		_, err := models.Build(models.Options{Batch: 4}, func(b *models.Builder) error {
			in := make([]*G.Node, len(c.in))
			for i, o := range c.in {
				in[i] = b.Input("in", o.kind(tensor.Float32), o.sized(4)...)
			}
			b.Failf("the cause")
			if strings.HasPrefix(c.fn, "Scalar") || c.fn == "Cast" {
				return nil // these cases inspect their operands themselves
			}
			c.build(b, make([]*G.Node, len(in)))
			return nil
		})
		if err == nil || err.Error() != "the cause" {
			t.Errorf("%s: got %v", c.name(), err)
		}
	}
}

func TestOpsDoNotRunInGorgonia(t *testing.T) {
	_, err := models.Build(models.Options{Batch: 4}, func(b *models.Builder) error {
		n := ops.Relu(b, b.Input("x", tensor.Float32, 4))
		if _, err := n.Op().Do(); err == nil || !strings.Contains(err.Error(), "Relu runs in goestimator's engine") {
			t.Errorf("Do: %v", err)
		}
		m := ops.Relu(b, b.Input("y", tensor.Float32, 4))
		if n.Op().Hashcode() == m.Op().Hashcode() || n.Name() != "Relu" || m.Name() != "Relu_1" {
			t.Error("two nodes are not told apart")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
