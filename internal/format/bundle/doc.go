// Package bundle reads and writes TensorBundles, the files of TensorFlow's
// checkpoints and SavedModels: a table <prefix>.index with the type, shape and
// place of each tensor, and data files <prefix>.data-NNNNN-of-NNNNN with
// the raw little-endian elements. docs/formats.md describes every byte.
//
// A Writer's output is byte for byte what TensorFlow's BundleWriter makes of
// the same tensors in the same order. A Reader checks every checksum; bad input
// gives a *CorruptError, never a panic, and memory stays in proportion to the
// sizes of the files.
package bundle
