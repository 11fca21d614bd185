// Package summary writes and reads TensorBoard event files: scalars, histograms,
// images, audio, text, tensors, the graph, and marks for a session's start, stop and
// checkpoints. docs/formats.md describes every byte.
//
// A FileWriter appends to its own file; a restarted process opens
// another one. A crash loses what was not flushed and may leave an incomplete last
// record, which Read skips silently. Flush before saving a checkpoint,
// so that a resumed run leaves no gap.
package summary
