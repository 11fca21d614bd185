// Package attention expands the engine's attention ops, which never store the matrix of scores, into TensorFlow's ops:
// softmax(Q·Kᵀ)·V and its gradient. Exports and comparisons with TensorFlow use the expanded form.
package attention
