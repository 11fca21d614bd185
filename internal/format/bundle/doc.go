// Package bundle reads and writes TensorBundles, the files of TensorFlow's
// checkpoints and SavedModels: a table <prefix>.index that says of each tensor
// its type, shape and place, and data files <prefix>.data-NNNNN-of-NNNNN that
// hold the raw little-endian elements. docs/formats.md describes every byte.
//
// What a Writer makes is byte for byte what TensorFlow's BundleWriter makes of
// the same tensors in the same order. A Reader checks every checksum; bad input
// gives a *CorruptError, never a panic, and memory stays in proportion to the
// files' sizes.
package bundle
