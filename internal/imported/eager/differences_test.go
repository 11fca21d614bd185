package eager

// Reasons why a case differs from TensorFlow.
const (
	unset     = "TensorFlow leaves memory unset where no index says what is there"
	tooLarge  = "tensors that no memory holds are refused earlier"
	sessions  = "a session's variables live as long as it"
	lenient   = "a shape or a line that nothing needs is not asked for"
	noOrder   = "NaN has no place in an order"
	nanLimit  = "minimum and maximum pass a NaN on, on every backend"
	padded    = "padding is multiplied too: zero times an infinity"
	dimension = "only vectors have unique elements"
	noMarks   = "keys and marks of a dense table may have any shape"
	unchecked = "TensorFlow does not check what indices, splits or sizes say"
)

// stricter has ops that refuse inputs which TensorFlow does not check, and why.
var stricter = map[string]string{
	"SparseReshape": unchecked, "SparseReorder": unchecked, "SparseSlice": unchecked, "SparseCross": unchecked, "SparseCrossHashed": unchecked, "SparseCrossV2": unchecked,
	"RaggedTensorToTensor": unchecked, "RaggedTensorToSparse": unchecked, "RaggedGather": unchecked, "Bincount": unchecked, "DenseBincount": unchecked, "RaggedBincount": unchecked,
	"ParseExample": unchecked, "Einsum": unchecked, "Conv2DBackpropInput": unchecked, "UniqueV2": dimension, "UniqueWithCountsV2": dimension,
}

// differences has the recorded cases in which we differ from TensorFlow in other ways, and why.
var differences = map[string]string{
	"DynamicStitch, zeros":                            unset,
	"DynamicStitch, ties":                             unset,
	"DynamicStitch, all rank 0":                       unset,
	"ParallelDynamicStitch, ties":                     unset,
	"ParallelDynamicStitch, zeros":                    unset,
	"ParallelDynamicStitch, all rank 0":               unset,
	"Empty, ties":                                     unset,
	"Empty, empty":                                    unset,
	"LowerBound, specials":                            noOrder,
	"ClipByValue, specials":                           nanLimit,
	"DepthwiseConv2dNative, specials":                 padded,
	"DepthwiseConv2dNative, infinities":               padded,
	"Conv2DBackpropInput, specials":                   padded,
	"Conv2DBackpropInput, infinities":                 padded,
	"SparseSlice, zeros":                              unchecked,
	"SparseSlice, ties":                               unchecked,
	"DenseBincount, all rank 0":                       lenient,
	"RaggedTensorToTensor, rank more":                 lenient,
	"ParseExampleV2 empty string, strings":            lenient,
	"ParseExample, rank 0":                            lenient,
	"sequence push rows, EmptyTensorList limits":      tooLarge,
	"sequence push words, EmptyTensorList limits":     tooLarge,
	"sequence push numbers, EmptyTensorList limits":   tooLarge,
	"sequence table from a file with an empty line":   lenient,
	"sequence table from a file with an empty lineV2": lenient,
	"sequence first concat of any shape":              lenient,
	"sequence vectors in MutableDenseHashTableV2, MutableDenseHashTableV2 rank more":               noMarks,
	"sequence vectors in MutableDenseHashTableV2, LookupTableFindV2 rank more":                     noMarks,
	"sequence vectors in AnonymousMutableDenseHashTable, AnonymousMutableDenseHashTable rank more": noMarks,
	"sequence vectors in AnonymousMutableDenseHashTable, LookupTableFindV2 rank more":              noMarks,
	"sequence destroyed floats":   sessions,
	"sequence destroyed integers": sessions,
	"sequence destroyed words":    sessions,
}
