package session

import "github.com/goestimator/goestimator/internal/runtime/engine"

// role says what the engine must know of an input when it compiles a node.
type role int

const (
	roleValue    role = iota // nothing
	roleConstant             // the value, the same for all batches
	roleSize                 // nothing, as the size of the result says it; to infer that, the value must be known
)

// inputRoles are those of ops whose inputs are not all values; -1 is the last input.
var inputRoles = map[string]map[int]role{
	"GatherV2": {2: roleConstant}, "ArgMax": {1: roleConstant}, "ArgMin": {1: roleConstant}, "Sum": {1: roleConstant}, "Mean": {1: roleConstant},
	"Max": {1: roleConstant}, "Min": {1: roleConstant}, "Prod": {1: roleConstant}, "All": {1: roleConstant}, "Any": {1: roleConstant},
	"ConcatV2": {-1: roleConstant}, "Concat": {0: roleConstant}, "Split": {0: roleConstant}, "SplitV": {1: roleConstant, 2: roleConstant},
	"Transpose": {1: roleConstant}, "Pad": {1: roleConstant}, "PadV2": {1: roleConstant}, "Slice": {1: roleConstant, 2: roleSize},
	"StridedSlice": {1: roleConstant, 2: roleSize, 3: roleConstant}, "Reshape": {1: roleSize}, "ExpandDims": {1: roleSize}, "Fill": {0: roleSize},
	"BroadcastTo": {1: roleSize}, "Tile": {1: roleSize}, "Range": {0: roleConstant, 1: roleSize, 2: roleConstant}, "OneHot": {1: roleSize},
	"TopKV2": {1: roleSize}, "UnsortedSegmentSum": {2: roleSize}, "ResizeBilinear": {1: roleSize}, "ResizeNearestNeighbor": {1: roleSize},
	"SpaceToBatchND": {1: roleConstant, 2: roleConstant}, "BatchToSpaceND": {1: roleConstant, 2: roleConstant},
}

// inputRole returns the role of input k of n.
func inputRole(op string, k, n int) role {
	roles := inputRoles[op]
	if r, ok := roles[k]; ok {
		return r
	}
	if k == n-1 {
		return roles[-1]
	}
	return roleValue
}

// heavyOps are worth a program even where the sizes of their inputs are not known before they are there.
var heavyOps = map[string]bool{"MatMul": true, "BatchMatMul": true, "BatchMatMulV2": true, "BatchMatMulV3": true, "Conv2D": true,
	"DepthwiseConv2dNative": true, "MaxPool": true, "AvgPool": true, "Einsum": true, "FusedBatchNorm": true, "FusedBatchNormV2": true, "FusedBatchNormV3": true}

// notCompiledOps are ops of the engine that are left to eager: for training, or of another meaning here.
var notCompiledOps = map[string]bool{"Placeholder": true, "PlaceholderWithDefault": true, "NoOp": true, "Const": true, "VarHandleOp": true,
	"AssignVariableOp": true, "AssignAddVariableOp": true, "AssignSubVariableOp": true, "RaggedTensorToTensor": true, "StatelessRandomUniformV2": true,
	"StatelessRandomNormalV2": true, "StatelessTruncatedNormalV2": true, "Shape": true, "Size": true, "Rank": true}

// compiles reports whether there is a form of the op for programs.
func compiles(op string) bool {
	return !notCompiledOps[op] && (engine.Supported(op) || forms[op] != nil)
}
