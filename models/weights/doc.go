// Package weights reads weights that other programs trained and saved, and maps their
// names and layouts to the variables of a model.
//
// [Open] recognises a file by its content: safetensors, NumPy's NPZ, HDF5 and Keras'
// archives, state dicts of PyTorch, and TensorFlow's checkpoints, including those of the
// first format and in SavedModels. It reads only the list of tensors; elements are read
// one tensor at a time. A [Mapping] of [Rule]s says which tensor each variable starts
// from. For Estimators use estimator.WithWarmStart.
//
// No code in a file is executed. Sizes that a file claims are checked against the file's
// size before memory is allocated. Damage is an error that wraps [ErrFormat].
package weights
