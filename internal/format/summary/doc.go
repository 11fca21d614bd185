// Package summary writes and reads TensorBoard event files: scalars, histograms,
// images, audio, text, tensors, the graph, and marks of a session's start, stop and
// checkpoints. docs/formats.md describes every byte.
//
// A FileWriter appends to a file of its own; a process that starts again opens
// another one. A crash loses what was not flushed and may leave a cut last
// record, which Read passes over in silence; flush before saving a checkpoint,
// and a resumed run leaves no gap.
package summary
