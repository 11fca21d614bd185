package graphdef

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// outputTable says what the outputs of TensorFlow's ops are (core/ops/*.cc of TensorFlow 2.18). A
// line is "outputs: ops"; an output is the name of a type attribute, "=type" for
// a fixed type, "N*T" for as many as the attribute N says, or "[Tout]" for a list of types.
const outputTable = `
: NoOp Assert AssignVariableOp AssignAddVariableOp AssignSubVariableOp AssignVariableXlaConcatND SaveV2 Save SaveSlices ControlTrigger
: ResourceApplyGradientDescent ResourceApplyMomentum ResourceApplyKerasMomentum ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAdaMax ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdagradDA ResourceApplyAdadelta ResourceApplyRMSProp ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent
: ResourceSparseApplyMomentum ResourceSparseApplyKerasMomentum ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyAdadelta ResourceSparseApplyRMSProp ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterUpdate ResourceScatterNdUpdate ResourceStridedSliceAssign
: InitializeTable InitializeTableV2 InitializeTableFromTextFile InitializeTableFromTextFileV2 LookupTableImport LookupTableImportV2 LookupTableInsertV2 DestroyResourceOp PrintV2 WriteFile MergeV2Checkpoints _Send _HostSend
dtype: Const Placeholder PlaceholderV2 PlaceholderWithDefault ReadVariableOp ImmutableConst Variable VariableV2 TemporaryVariable ResourceGather ResourceGatherNd ParameterizedTruncatedNormal RandomUniform RandomStandardNormal TruncatedNormal StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomUniformIntV2 StatelessRandomNormal StatelessRandomNormalV2 StatelessTruncatedNormal StatelessTruncatedNormalV2 TensorArrayReadV3 TensorArrayGatherV3 ReadVariableXlaSplitND Empty
T: Identity StopGradient PreventGradient CheckNumerics Snapshot Print Add AddV2 Sub Mul Div RealDiv DivNoNan MulNoNan FloorDiv TruncateDiv FloorMod Mod Maximum Minimum Pow SquaredDifference AddN AccumulateNV2 Atan2 Xdivy Xlogy
T: Neg Abs Square Sqrt Rsqrt Exp Log Log1p Expm1 Sign Reciprocal Inv Floor Ceil Round Rint Erf Erfc Erfinv Lgamma Digamma Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Tanh Sigmoid Relu Relu6 LeakyRelu Elu Selu Softplus Softsign
T: TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftplusGrad SoftsignGrad ReciprocalGrad InvGrad
T: MatMul BatchMatMul BatchMatMulV2 BiasAdd BiasAddV1 BiasAddGrad Sum Mean Max Min Prod EuclideanNorm Cumsum Cumprod L2Loss Softmax LogSoftmax Select SelectV2 ClipByValue
T: Reshape ExpandDims Squeeze Transpose ConjugateTranspose Concat ConcatV2 Slice StridedSlice StridedSliceGrad Pad PadV2 MirrorPad MirrorPadGrad Tile BroadcastTo Fill ZerosLike OnesLike Pack Reverse ReverseV2 ReverseSequence Diag DiagPart MatrixDiag MatrixDiagV3 MatrixBandPart MatrixInverse Cholesky SpaceToDepth DepthToSpace SpaceToBatchND BatchToSpaceND DeepCopy InvertPermutation
T: ScatterNd TensorScatterUpdate TensorScatterAdd UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd SegmentSum SegmentMean SegmentMax SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN SparseSegmentMeanGrad DynamicStitch ParallelDynamicStitch RandomShuffle
T: Conv2D Conv2DBackpropInput Conv2DBackpropFilter Conv3D DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter MaxPool MaxPoolV2 MaxPoolGrad MaxPoolGradV2 MaxPoolGradGrad AvgPool AvgPoolGrad MaxPool3D AvgPool3D LRN LRNGrad ResizeNearestNeighbor ResizeBilinearGrad ResizeNearestNeighborGrad _FusedMatMul _FusedConv2D
T: Assign AssignAdd AssignSub ScatterUpdate ScatterAdd ScatterSub ApplyGradientDescent ApplyMomentum ApplyAdam ApplyAdagrad ApplyRMSProp ApplyFtrl Enter RefEnter Exit RefExit NextIteration RefNextIteration RefIdentity
=bool: Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot All Any IsFinite IsInf IsNan InTopK InTopKV2 LoopCond VarIsInitializedOp IsVariableInitialized ApproximateEqual
DstT: Cast
type: Bitcast
out_type: Shape Size StringToNumber DecodeRaw DecodePaddedRaw VariableShape LowerBound UpperBound
=int32: Rank
=float32: ResizeBilinear ResizeBicubic ResizeArea AdjustContrastv2 AdjustHue CropAndResize
output_type: ArgMax ArgMin
=int32: Bucketize NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 StringLength
Tidx: Range
Tparams: Gather GatherV2 GatherNd
T: OneHot LinSpace
=int64: Where StringToHashBucketFast StringToHashBucketStrong StringToHashBucket
T T: Switch RefSwitch SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
=int64 out_type =int64: SparseCross
=int64 =int64 =int64: SparseCrossHashed
=int64 =string =int64: SparseCrossV2
T =int32: Merge RefMerge TopK TopKV2
T T T: Svd
T T T T T: FusedBatchNorm FusedBatchNormGrad
T U U U U: FusedBatchNormV2 FusedBatchNormGradV2
T U U U U U: FusedBatchNormV3
T U U U U: FusedBatchNormGradV3
T Targmax: MaxPoolWithArgmax
T out_idx: Unique UniqueV2
T out_idx out_idx: UniqueWithCounts
T idx: ListDiff
=int32 =int32: BroadcastGradientArgs
num*T: Unpack
num_split*T: Split SplitV
N*out_type: ShapeN
N*=int32: ConcatOffset
num_partitions*T: DynamicPartition
[T]: IdentityN _ListToArray
[Tout]: PartitionedCall StatefulPartitionedCall If StatelessIf Case StatelessCase PyFunc PyFuncStateless EagerPyFunc RemoteCall
[T]: While StatelessWhile
[dtypes]: RestoreV2
[component_types]: QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2
[output_types]: IteratorGetNext IteratorGetNextSync OptionalGetValue
dt: Restore RestoreSlice
=string: ReadFile DecodeBase64 EncodeBase64 StringJoin AsString Substr RegexReplace StaticRegexReplace ShardedFilename ShardedFilespec MergeSummary ScalarSummary HistogramSummary ImageSummary TensorSummary TensorSummaryV2 ReduceJoin StringLower StringUpper StringStrip MatchingFiles EncodePng EncodeJpeg SerializeTensor
=bool: StaticRegexFullMatch RegexFullMatch
=int64 =string =int64: StringSplit StringSplitV2
=uint8: DecodeJpeg DecodeGif DecodeBmp
dtype: DecodePng DecodeImage
out_type: ParseTensor
T: SparseToDense SparseTensorDenseAdd SparseTensorDenseMatMul
=int64 T =int64: SparseConcat SparseSlice SparseAdd
=int64 T: SparseReorder
=int64 =int64: SparseReshape
=int64 T =bool =int64: SparseFillEmptyRows
=resource: VarHandleOp HashTableV2 MutableHashTableV2 MutableDenseHashTableV2 Iterator IteratorV2 OneShotIterator SummaryWriter FIFOQueueV2 RandomShuffleQueueV2 PaddingFIFOQueueV2 BoostedTreesEnsembleResourceHandleOp StackV2
=resource =float32: TensorArrayV3 TensorArrayGradV3
=float32: TensorArrayWriteV3 TensorArrayScatterV3
=int32: TensorArraySizeV3
=variant: TensorListReserve EmptyTensorList TensorListSetItem TensorListFromTensor TensorListPushBack TensorListResize TensorListScatter TensorListScatterV2 TensorDataset TensorSliceDataset BatchDataset BatchDatasetV2 MapDataset ParallelMapDataset ParallelMapDatasetV2 ShuffleDataset ShuffleDatasetV3 RepeatDataset PrefetchDataset TFRecordDataset TextLineDataset RangeDataset ZipDataset FilterDataset TakeDataset SkipDataset FlatMapDataset InterleaveDataset ModelDataset OptimizeDataset
element_dtype: TensorListGetItem TensorListStack TensorListGather
element_dtype =int64: TensorListConcat TensorListConcatV2
shape_type: TensorListElementShape
=int32: TensorListLength
=variant element_dtype: TensorListPopBack
Tout: LookupTableFind LookupTableFindV2 Real Imag
=int64: LookupTableSizeV2
tensor_type: _Recv _HostRecv
T: EnsureShape ResourceCountUpTo CountUpTo Einsum Roll Bincount NextAfter Betainc Igamma Igammac Zeta Polygamma BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift Invert RGBToHSV HSVToRGB AdjustSaturation
=string: IteratorToStringHandle
Nsparse*=int64 [sparse_types] Nsparse*=int64 [Tdense]: ParseExample
num_sparse*=int64 [sparse_types] num_sparse*=int64 [Tdense] [ragged_value_types] [ragged_split_types]: ParseExampleV2
num_sparse*=int64 [sparse_types] num_sparse*=int64 [Tdense]: ParseSingleExample
output_dtype: Multinomial StatelessMultinomial
`

// output is one entry of an op's signature.
type output struct {
	attr  string       // the type attribute, "" where fixed
	fixed tensor.DType // the type where attr is ""
	count string       // the integer attribute that says how many, "" for one
	list  bool         // attr is a list of types
}

var signatures = parseSignatures()

func parseSignatures() map[string][]output {
	table := map[string][]output{}
	for _, line := range strings.Split(strings.TrimSpace(outputTable), "\n") {
		spec, ops, _ := strings.Cut(line, ":")
		outs := []output{}
		for _, s := range strings.Fields(spec) {
			outs = append(outs, parseOutput(s))
		}
		for _, op := range strings.Fields(ops) {
			table[op] = outs
		}
	}
	return table
}

func parseOutput(s string) output {
	var o output
	if inner, ok := strings.CutPrefix(s, "["); ok {
		return output{attr: strings.TrimSuffix(inner, "]"), list: true}
	}
	if count, rest, ok := strings.Cut(s, "*"); ok {
		o.count, s = count, rest
	}
	if fixed, ok := strings.CutPrefix(s, "="); ok {
		o.fixed, _ = tensor.ParseDType(fixed)
		return o
	}
	o.attr = s
	return o
}

// infer returns the outputs of a node whose Attrs are set, with the shapes that
// follow from op and attributes alone; refs is how many outputs are referred to.
// Ops outside the table have as many outputs as that, at least one.
func infer(n *graph.Node, refs int) ([]graph.Type, error) {
	var types []tensor.DType
	sig, ok := signatures[n.Op]
	if !ok {
		d := unknownType(n)
		for range max(refs, 1) {
			types = append(types, d)
		}
	}
	for _, o := range sig {
		switch {
		case o.list:
			list, _ := n.Attrs[o.attr].([]tensor.DType)
			types = append(types, list...)
			continue
		case o.attr != "":
			o.fixed, _ = n.Attrs[o.attr].(tensor.DType)
		}
		count := 1
		if o.count != "" {
			count = n.Int(o.count, 0)
		}
		if count < 0 || count > maxOutputs {
			return nil, fmt.Errorf("attribute %s is %d: expected 0 to %d outputs", o.count, count, maxOutputs)
		}
		for range count {
			types = append(types, o.fixed)
		}
	}
	out := make([]graph.Type, len(types))
	for i, d := range types {
		out[i] = graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}}
	}
	if len(out) == 1 {
		out[0].Shape = ownShape(n)
	}
	return out, nil
}

func unknownType(n *graph.Node) tensor.DType {
	for _, name := range []string{"T", "dtype"} {
		if d, ok := n.Attrs[name].(tensor.DType); ok {
			return d
		}
	}
	return tensor.Invalid
}

// ownShape returns the shape that an op's attributes state.
func ownShape(n *graph.Node) graph.Shape {
	switch n.Op {
	case "Const":
		if t, ok := n.Attrs["value"].(*tensor.Tensor); ok {
			return graph.ShapeOf(t.Shape...)
		}
	case "Placeholder":
		if s, ok := n.Attrs["shape"].(graph.Shape); ok {
			return s
		}
	case "VarHandleOp":
		return graph.Shape{}
	}
	return graph.Shape{UnknownRank: true}
}
