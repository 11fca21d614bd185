package graph

// NegativeGivesZeros is an attribute of a GatherV2 along axis 0: negative indices
// give zeros, so that a gradient ignores padding. It is this project's own and for
// training only: TensorFlow refuses such indices on a CPU.
const NegativeGivesZeros = "_negative_gives_zeros"

// NegativeLeftOut is an attribute of a GatherV2 along axis 0 whose indices are a
// Maximum with 0. The rows gathered for originally negative indices are never
// used, so they need not be read.
const NegativeLeftOut = "_negative_left_out"
