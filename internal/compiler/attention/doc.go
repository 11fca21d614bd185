// Package attention turns the engine's ops of attention, which keep no matrix of scores, into TensorFlow's ops:
// softmax(Q·Kᵀ)·V and its gradient. Exports, and comparisons with TensorFlow, consist of these.
package attention
