package eager

import (
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// unrecorded has the ops without cases recorded from TensorFlow, and why.
var unrecorded = map[string]string{
	"LookupTableRemoveV2":   "TestMutableTable has it: its cases are not recorded yet",
	"StringFormat":          "TestStringFormat has it: its cases are not recorded yet",
	"BandedTriangularSolve": "TestBandedTriangularSolve has it: its cases are not recorded yet",
	"_NgramCounts":          "of ONNX models: TestNgramCounts, and the node tests of TfIdfVectorizer",
	"_IntegerMatMul":        "of ONNX models: TestIntegerProducts",
	"_IntegerConv2D":        "of ONNX models: TestIntegerProducts",
	"_Tokens":               "of ONNX models: TestTokens",
	"ApproximateEqual":      "TestApproximateEqual has it: its cases are not recorded yet",
	"DecodeProtoV2":         "TestDecodeProto has TensorFlow's values",
	"EncodeProto":           "TestEncodeProto has TensorFlow's values",
	"_RowOrder":             "of ONNX models: TestRowOrder",
	"_RoiAlign":             "of ONNX models: TestRoiAlign",
	"_GridSample":           "of ONNX models: TestGridSample",
	"_SelectBoxes":          "of ONNX models: TestSelectBoxes",
	"TopK":                  "removed from TensorFlow: TopKV2 is recorded",
	"Const":                 "its value is an attribute",
	"Placeholder":           "what is fed",
	"PlaceholderV2":         "what is fed; removed from TensorFlow",
	"RestoreV2":             "reads a checkpoint: interop compares checkpoints",
	"Case":                  byControl,
	"If":                    byControl,
	"While":                 byControl,
	"StatelessCase":         byControl,
	"StatelessIf":           byControl,
	"StatelessWhile":        byControl,
	"RemoteCall":            "names devices: interop/python/cluster_data.py compares servers",
}

func init() {
	for _, family := range []map[*ops.Def]maker{queueOps, accumulatorOps, barrierOps, stagingOps, keepOps, serialOps, stackOps, arrayOps} {
		for op := range family {
			unrecorded[op.Name] = "steps wait for each other: interop/python/cluster_*.py compares servers"
		}
	}
	for _, family := range []map[*ops.Def]maker{textOps, xlaOps} {
		for op := range family {
			unrecorded[op.Name] = "text_tokens_test.go and pieces have TensorFlow's values"
		}
	}
	for _, family := range []map[*ops.Def]maker{datasetOps, datasetMapOps, datasetStateOps, datasetFileOps, iteratorOps, multiDeviceOps, summaryOps, summaryWriterOps, readerOps, fileOps, csvOps} {
		for op := range family {
			unrecorded[op.Name] = "interop/python/cluster_data.py compares servers"
		}
	}
}

const byControl = "runs functions, which the recorder has not: interop/v1_control_test.go compares models with branches and loops"

// total has ops that refuse nothing, or only what TensorFlow's graphs cannot contain: they have no refused case.
var total = strings.Fields(`
	Abs Acos Acosh Add AsString Asin Asinh Assign AssignVariableOp Atan Atanh Bitcast Bucketize Cast Ceil Cos Cosh Elu EncodeBase64 Erf Erfc Erfinv Exp
	Expm1 Floor GuaranteeConst Identity IdentityN Inv Invert IsFinite IsInf IsNan IsotonicRegression L2Loss LeakyRelu Lgamma Log Log1p LogicalNot OnesLike PlaceholderWithDefault
	PreventGradient Print PrintV2 Rank Reciprocal Relu Relu6 Rint Round Rsqrt Selu Shape ShapeN Sigmoid Sign Sin Sinh Size Snapshot Softplus Softsign Sqrt
	Square StaticRegexFullMatch StaticRegexReplace StopGradient StringLower StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong
	StringUpper Tan Tanh TensorListConcatV2 ZerosLike
`)

// Reasons why no case covers an edge.
const (
	beyondMemory = "a list or a tensor of that length is larger than the recorder's memory"
	noGraph      = "TensorFlow's graphs do not let it in"
	onlyPrinted  = "the values are only printed"
)

// missing has edges of an op that no case covers, and why.
var missing = map[string]string{
	"AnonymousMutableDenseHashTable: a dimension of 0": noGraph,
	"Assert: a dimension of 0":                         onlyPrinted,
	"Assert: a negative zero":                          onlyPrinted,
	"Assert: a zero":                                   onlyPrinted,
	"Assert: infinities":                               onlyPrinted,
	"InitializeTable: a dimension of 0":                noGraph,
	"InitializeTable: rank 0":                          noGraph,
	"InitializeTableFromTextFile: a dimension of 0":    noGraph,
	"InitializeTableFromTextFile: no UTF-8":            noGraph,
	"InitializeTableFromTextFileV2: a dimension of 0":  noGraph,
	"InitializeTableFromTextFileV2: no UTF-8":          noGraph,
	"InitializeTableV2: a dimension of 0":              noGraph,
	"InitializeTableV2: rank 0":                        noGraph,
	"LinSpace: a dimension of 0":                       noGraph,
	"LinSpace: the largest integer":                    beyondMemory,
	"LookupTableImportV2: a dimension of 0":            noGraph,
	"LookupTableImportV2: rank 0":                      noGraph,
	"MutableDenseHashTableV2: a dimension of 0":        noGraph,
	"PrintV2: a dimension of 0":                        noGraph,
	"Range: a dimension of 0":                          noGraph,
	"ResourceGatherNd: rank 0":                         noGraph,
	"TensorListConcatV2: the largest integer":          beyondMemory,
	"TensorListConcatV2: the smallest integer":         beyondMemory,
	"TensorListFromTensor: rank 0":                     noGraph,
	"TensorListGetItem: a dimension of 0":              noGraph,
	"TensorListReserve: the largest integer":           beyondMemory,
	"TensorListReserve: the smallest integer":          beyondMemory,
	"TensorListResize: a dimension of 0":               noGraph,
	"TensorListResize: the largest integer":            beyondMemory,
	"TensorListResize: the smallest integer":           beyondMemory,
	"TensorListScatter: the largest integer":           beyondMemory,
	"TensorListScatter: the smallest integer":          beyondMemory,
	"TensorListScatterV2: the largest integer":         beyondMemory,
	"TensorListScatterV2: the smallest integer":        beyondMemory,
	"TensorListStack: a dimension of 0":                noGraph,
	"TensorListStack: the largest integer":             beyondMemory,
	"TensorListStack: the smallest integer":            beyondMemory,
}

// byUpdates are the ops with cases in updates.json.gz.
const byUpdates = "TestUpdates compares recorded updates: see interop/eager_updates.py"

// byDraws are the ops with numbers in random.json.gz.
const byDraws = "TestRandom compares recorded numbers: see interop/eager_random.py"

func init() {
	for op := range randomOps {
		unrecorded[op.Name] = byDraws
	}
	for _, op := range []*ops.Def{ops.FractionalMaxPool, ops.FractionalAvgPool, ops.SampleDistortedBoundingBox, ops.SampleDistortedBoundingBoxV2, ops.StatelessSampleDistortedBoundingBox} {
		unrecorded[op.Name] = "TestFractionalPools and TestSampleDistortedBoundingBox have TensorFlow's numbers: they are not recorded yet"
	}
	unrecorded[ops.NonDeterministicInts.Name] = "no run is like another"
	for _, family := range []map[*ops.Def]maker{optimizerOps, scatterOps, gradientOps, trainingOps, fusedOps} {
		for op := range family {
			unrecorded[op.Name] = byUpdates
		}
	}
	for _, op := range []*ops.Def{ops.FusedDepthwiseConv2dNative, ops.FusedBatchNormEx} {
		unrecorded[op.Name] = "TensorFlow has no kernel of it on processors without oneDNN: TestFused compares it with the ops that it stands for"
	}
	for op := range saveOps {
		unrecorded[op.Name] = "writes files: interop compares training that goes on from checkpoints"
	}
	for _, op := range []*ops.Def{ops.AssignAdd, ops.AssignSub, ops.CountUpTo, ops.ResourceCountUpTo} {
		unrecorded[op.Name] = byUpdates
	}
}
