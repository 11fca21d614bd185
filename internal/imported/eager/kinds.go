package eager

import (
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// For each type attribute, the kernels of an op support the element types in the op's definition except float16, bfloat16 and
// complex numbers; of integers that index or count, only int32 and int64. The tables below list exceptions in both directions.
// TestKinds checks them against what the kernels do with recorded cases in all types.

// kinds are the element types that a type attribute of an op supports.
type kinds = []tensor.DType

var (
	floatKinds  = kinds{tensor.Float32, tensor.Float64}
	indexKinds  = kinds{tensor.Int32, tensor.Int64}
	halfKinds   = kinds{tensor.Float16, tensor.BFloat16, tensor.Complex64, tensor.Complex128}
	wideKinds   = append(slices.Clone(floatKinds), indexKinds...)
	realKinds   = append(kinds{tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64}, wideKinds...)
	simpleKinds = append(kinds{tensor.Bool, tensor.String}, realKinds...)
	allKinds    = append(slices.Clone(halfKinds), simpleKinds...)
	castKinds   = append(kinds{tensor.Bool, tensor.Float16, tensor.BFloat16}, realKinds...)

	complexKinds = kinds{tensor.Complex64, tensor.Complex128}
)

// every has the ops that support all types of their definition: they move elements, look at shapes, or compute in float32 or
// float64 and round. Indexing integers are int32 and int64 here too.
var every = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`
		AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable AnonymousMutableHashTableOfTensors Assign AssignVariableOp
		BatchToSpace BatchToSpaceND Bitcast BroadcastTo CheckNumerics CheckNumericsV2 Concat ConcatV2 Const DecodeRaw DepthToSpace
		DestroyTemporaryVariable Diag DiagPart DynamicPartition DynamicStitch Empty EmptyTensorList EnsureShape ExpandDims ExtractImagePatches ExtractVolumePatches Fill Gather GatherNd
		GatherV2 GuaranteeConst HashTable HashTableV2 Identity IsVariableInitialized LookupTableFind LookupTableFindV2 LookupTableImport LookupTableImportV2
		MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2
		MatrixSetDiagV3 MirrorPad Multinomial MutableDenseHashTableV2 MutableHashTable MutableHashTableOfTensors MutableHashTableOfTensorsV2
		MutableHashTableV2 OneHot Pack Pad PadV2 ParallelConcat ParallelDynamicStitch Placeholder PlaceholderV2 PlaceholderWithDefault PreventGradient
		Print RaggedGather RaggedTensorFromVariant RaggedTensorToSparse RaggedTensorToTensor RaggedTensorToVariant RandomGamma RandomPoissonV2 RandomShuffle RandomStandardNormal RandomUniform
		Rank ReadVariableOp RefIdentity Reshape ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor ResourceGather ResourceGatherNd ResourceScatterNdUpdate
		ResourceScatterUpdate ResourceStridedSliceAssign ReverseSequence ReverseV2 Roll ScaleAndTranslate
		CropAndResize CropAndResizeGradBoxes NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
		ScatterNdUpdate ScatterUpdate Select SelectV2 SerializeManySparse SerializeTensor Shape ShapeN
		Size Slice Snapshot SpaceToBatch SpaceToBatchND SpaceToDepth SparseConcat SparseFillEmptyRows SparseReorder SparseSlice SparseSplit SparseToDense Split SplitV Squeeze
		StatefulRandomBinomial StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatelessMultinomial StatelessRandomBinomial StatelessRandomGammaV2 StatelessRandomGammaV3
		StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform StatelessRandomUniformV2 StatelessShuffle
		StatelessTruncatedNormal StatelessTruncatedNormalV2 StopGradient StridedSlice StridedSliceAssign StridedSliceGrad TemporaryVariable
		TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3 TensorListConcat TensorListConcatV2 TensorListFromTensor TensorListGather TensorListGetItem TensorListPopBack TensorListPushBack
		TensorListReserve TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack TensorScatterUpdate TensorStridedSliceUpdate Tile Transpose TruncatedNormal
		Unpack VarHandleOp Variable VariableV2 ZerosLike _ParallelConcatStart _ParallelConcatUpdate`) {
		all[name] = true
	}
	return all
})

// fewer has the attributes of ops that support fewer types than the rule says, or others.
var fewer = sync.OnceValue(func() map[string]map[string]kinds {
	all := map[string]map[string]kinds{}
	set := func(names, attr string, k kinds) {
		for _, name := range strings.Fields(names) {
			if all[name] == nil {
				all[name] = map[string]kinds{}
			}
			all[name][attr] = k
		}
	}
	for op := range optimizerOps {
		set(op.Name, "T", floatKinds)
	}
	set(`BiasAddGrad RealDiv MaxPoolGrad Relu6Grad ReluGrad SparseSegmentSum SparseSegmentSumWithNumSegments Inv Reciprocal
		Conv2D Conv2DBackpropInput Conv2DBackpropFilter ResizeNearestNeighborGrad`, "T", floatKinds)
	set("Round", "T", append(kinds{tensor.Int32, tensor.Int64}, floatKinds...))
	set("BatchMatMul BatchMatMulV2 MatMul Einsum SparseTensorDenseMatMul", "T", wideKinds)
	set(`LowerBound UpperBound ResourceScatterNdAdd ResourceScatterNdSub ScatterNdAdd ScatterNdSub ScatterNdMax ScatterNdMin ResourceScatterNdMax
		ResourceScatterNdMin TensorScatterSub TensorScatterMax TensorScatterMin ArgMax ArgMin`, "T", realKinds)
	set("StatefulRandomBinomial StatelessRandomBinomial", "T", kinds{tensor.Float32, tensor.Float64})
	set("AssignAddVariableOp AssignSubVariableOp", "dtype", realKinds)
	set("ScatterNd TensorScatterAdd", "T", simpleKinds)
	set("Cast", "SrcT", castKinds)
	set("Cast", "DstT", castKinds)
	for _, attr := range []string{"Ta", "Tb", "Tout"} {
		set("BatchMatMulV3", attr, append(kinds{tensor.Int8, tensor.Uint8}, wideKinds...))
	}
	set("MaxPoolV2 MaxPoolGradV2", "T", floatKinds)
	set("SparseTensorDenseAdd", "T", wideKinds)
	set("SparseFillEmptyRowsGrad", "T", append(kinds{tensor.Bool}, wideKinds...))
	set("ScatterNdNonAliasingAdd", "T", append(kinds{tensor.Bool}, realKinds...))
	set("SparseAdd", "T", append(kinds{tensor.Int8, tensor.Int16}, wideKinds...))
	set("SparseReduceSum SparseReduceSumSparse SparseReduceMax SparseReduceMaxSparse SparseSparseMaximum SparseSparseMinimum NthElement", "T",
		append(kinds{tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Uint16}, wideKinds...))
	set("EditDistance", "T", append(kinds{tensor.String, tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Uint16}, wideKinds...))
	set("ArgMax ArgMin", "output_type", indexKinds)
	setQuantized(set)
	set("InitializeTable InitializeTableV2", "Tval", allKinds)
	set("LookupTableInsert LookupTableInsertV2", "Tout", allKinds)
	set("LookupTableExport LookupTableExportV2", "Tvalues", allKinds)
	return all
})

// setQuantized says which ops take quantized numbers: quantized ops, with the types of TensorFlow's kernels, and ops that move elements.
func setQuantized(set func(names, attr string, k kinds)) {
	bytes, words := kinds{tensor.QUint8}, kinds{tensor.QInt32}
	all := kinds{tensor.QInt8, tensor.QUint8, tensor.QInt16, tensor.QUint16, tensor.QInt32}
	moved := append(slices.Clone(allKinds), all...)
	set("Const", "dtype", moved)
	set("Placeholder", "dtype", moved)
	set("Identity", "T", moved)
	set("QuantizedReshape", "T", kinds{tensor.QUint8, tensor.QInt32})
	set("QuantizeV2 Dequantize", "T", all)
	set("Dequantize", "dtype", kinds{tensor.Float32, tensor.BFloat16})
	set("Requantize RequantizationRange QuantizeDownAndShrinkRange", "Tinput", words)
	set("Requantize QuantizeDownAndShrinkRange", "out_type", bytes)
	set("QuantizedMatMul", "T1", bytes)
	set("QuantizedMatMul", "T2", bytes)
	set("QuantizedMatMul", "Toutput", words)
	set("QuantizedConv2D", "Tinput", bytes)
	set("QuantizedConv2D", "Tfilter", bytes)
	set("QuantizedConv2D QuantizedBiasAdd", "out_type", words)
	set("QuantizedBiasAdd", "T1", kinds{tensor.QUint8, tensor.QInt8})
	set("QuantizedBiasAdd", "T2", kinds{tensor.QUint8, tensor.QInt8})
	set("QuantizedRelu QuantizedRelu6", "Tinput", kinds{tensor.QUint8, tensor.QInt32})
	set("QuantizedRelu QuantizedRelu6", "out_type", kinds{tensor.QUint8, tensor.QInt32})
	set("QuantizedMaxPool QuantizedAvgPool", "T", bytes)
	set("QuantizedConcat", "T", kinds{tensor.QUint8, tensor.QInt32})
}

// onComplex has the ops that also compute with complex numbers, besides what the other tables say.
var onComplex = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`
		AccumulateNV2 AddN AsString AssignAdd AssignSub BatchMatMul BatchMatMulV2 BatchMatMulV3 BiasAdd BiasAddV1 Cast Cholesky Cumprod Cumsum Einsum Equal LogMatrixDeterminant LookupTableExport LookupTableExportV2
		LookupTableInsert LookupTableInsertV2 Lu MatMul MatrixDeterminant MatrixInverse MatrixSolve MatrixTriangularSolve Mean MirrorPadGrad NotEqual OnesLike Prod Qr
		ScatterNd ScatterNdNonAliasingAdd SegmentMean SegmentProd SegmentSum SelfAdjointEigV2 SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul Sum Svd TensorScatterAdd TensorScatterSub UnsortedSegmentProd UnsortedSegmentSum Where`) {
		all[name] = true
	}
	for op := range complexUnary {
		all[op.Name] = true
	}
	for op := range complexBinary {
		all[op.Name] = true
	}
	for _, family := range []map[*ops.Def]maker{complexOps, fourierOps, spectralOps} {
		for op := range family {
			all[op.Name] = true
		}
	}
	return all
})

// takes returns the types among of, the definition's, that the kernels of an op support for a type attribute; a nil of means any.
func takes(op *ops.Def, attr string, of kinds) kinds {
	all := takesReal(op, attr, of)
	var more kinds
	if (widens(op) || themselves()[op.Name]) && types(op, attr) {
		more = append(more, tensor.Float16, tensor.BFloat16)
	}
	if onComplex()[op.Name] && !indexes(of) {
		more = append(more, complexKinds...)
	}
	for _, d := range more {
		if !slices.Contains(all, d) && (of == nil || slices.Contains(of, d)) {
			all = append(slices.Clip(all), d)
		}
	}
	return all
}

// takesReal is takes without onComplex, and without 16-bit floats that are widened.
func takesReal(op *ops.Def, attr string, of kinds) kinds {
	if k, ok := fewer()[op.Name][attr]; ok {
		return k
	}
	switch {
	case of == nil && every()[op.Name]:
		return allKinds
	case of == nil:
		return simpleKinds
	case indexes(of):
		return slices.DeleteFunc(slices.Clone(of), func(d tensor.DType) bool { return !slices.Contains(indexKinds, d) })
	case every()[op.Name]:
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(d tensor.DType) bool { return slices.Contains(halfKinds, d) })
}

// indexes reports whether the types are for indices or counts: small integers and int32.
func indexes(of kinds) bool {
	return slices.Contains(of, tensor.Int32) && !slices.ContainsFunc(of, func(d tensor.DType) bool {
		return d != tensor.Int16 && d != tensor.Uint16 && d != tensor.Int8 && d != tensor.Int32 && d != tensor.Int64
	})
}
