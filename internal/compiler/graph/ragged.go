package graph

// NegativeGivesZeros is an attribute of a GatherV2 along axis 0 whose negative
// indices give zeros: how a gradient leaves padding out. It is this project's
// own, for training alone: TensorFlow refuses such indices on a CPU.
const NegativeGivesZeros = "_negative_gives_zeros"

// NegativeLeftOut is an attribute of a GatherV2 along axis 0 of indices that a
// Maximum with 0 made of perhaps negative ones: nothing comes of the rows at
// those, so that they need not be read.
const NegativeLeftOut = "_negative_left_out"
