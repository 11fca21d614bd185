package eager

import (
	"strings"
	"testing"
)

// servingOps are the ops of estimators' and Keras models' graphs that this package must run.
const servingOps = `Const Print PrintV2 Placeholder PlaceholderV2 PlaceholderWithDefault Identity IdentityN NoOp Shape ShapeN Size Rank Reshape Squeeze ExpandDims Pack Unpack
ConcatV2 Concat Slice StridedSlice Split SplitV Tile Transpose Fill Range Cast Where GatherV2 Gather GatherNd ResourceGather ResourceGatherNd ScatterNd BroadcastTo ZerosLike OnesLike
OneHot Select SelectV2 Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot AddV2 Add Sub Mul Div RealDiv DivNoNan FloorDiv FloorMod
Maximum Minimum Sum Mean Max Min Prod All Any Cumsum Unique UniqueV2 SparseFillEmptyRows SparseReshape SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN
SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd
UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd SparseToDense SparseTensorDenseMatMul SparseConcat SparseSlice SparseReorder LowerBound UpperBound
Bucketize ParseExample ParseExampleV2 ParseSingleExample DecodeRaw StringToHashBucketFast StringToHashBucketStrong StringToHashBucket AsString StringToNumber StringJoin
StringSplit StringSplitV2 StringLower StringUpper StringStrip RegexReplace StaticRegexReplace RegexFullMatch StaticRegexFullMatch StringLength Substr HashTable HashTableV2 LookupTableFind LookupTableFindV2
LookupTableSizeV2 InitializeTable InitializeTableV2 InitializeTableFromTextFile InitializeTableFromTextFileV2 LookupTableImportV2 LookupTableExportV2 LookupTableInsertV2 MutableHashTableV2 MutableHashTableOfTensorsV2
MutableDenseHashTableV2 AnonymousHashTable AnonymousMutableHashTable SparseCross SparseCrossV2 SparseCrossHashed RaggedTensorToTensor RaggedTensorToSparse RaggedRange RaggedGather EncodeBase64 DecodeBase64 VarHandleOp ReadVariableOp AssignVariableOp
AssignAddVariableOp AssignSubVariableOp VarIsInitializedOp VariableV2 Assign RestoreV2 Assert StopGradient PreventGradient CheckNumerics MatMul BatchMatMulV2 BiasAdd Relu Relu6 LeakyRelu Elu Selu Sigmoid Tanh
Softplus Softsign Softmax LogSoftmax Conv2D DepthwiseConv2dNative MaxPool AvgPool FusedBatchNorm FusedBatchNormV3 Pad PadV2 MirrorPad Einsum ArgMax ArgMin TopKV2 ResizeBilinear ResizeNearestNeighbor
DynamicPartition DynamicStitch Exp Log Sqrt Rsqrt Square SquaredDifference Pow Neg Abs Sign Floor Ceil Round Erf AddN ListDiff InTopKV2 ReverseV2 ReverseSequence EnsureShape SparseDenseCwiseMul UniqueWithCounts Bincount DenseBincount RaggedBincount MatrixBandPart Roll SpaceToBatchND BatchToSpaceND Conv2DBackpropInput`

func TestServingOps(t *testing.T) {
	for _, op := range strings.Fields(servingOps) {
		if !Supported(op) {
			t.Errorf("%s has no kernel", op)
		}
	}
	if Supported("Quux") {
		t.Error("Quux has a kernel")
	}
}
