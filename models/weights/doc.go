// Package weights reads trained weights that other programs saved, and maps their names
// and layouts to the variables of a model.
//
// [Open] recognises a file by its content: safetensors, NumPy's NPZ, HDF5 and
// Keras' archives, state dicts of PyTorch, and TensorFlow's checkpoints (also of its first format, and in SavedModels). It
// lists the tensors; elements are read one tensor at a time. A [Mapping] of [Rule]s says
// which tensor a variable starts from. Estimators do both by estimator.WithWarmStart.
//
// Nothing of a file is executed. What a file claims is checked against its size before
// memory is allocated for it; damage is an error that wraps [ErrFormat].
package weights
