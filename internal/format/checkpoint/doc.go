// Package checkpoint saves and restores named tensors as TensorFlow checkpoints:
// model.ckpt-<step>.index, model.ckpt-<step>.data-NNNNN-of-NNNNN and the text
// file "checkpoint" that lists them. docs/formats.md describes every byte.
//
// # Safety
//
// A directory has one Saver, the chief's. It writes in this order: the
// data file under a temporary name, fsync, rename; the index likewise; fsync of
// the directory; the list likewise; only then it deletes old checkpoints. A crash
// or power cut at any moment leaves a loadable checkpoint once there was one.
//
// Loading checks every byte. A damaged newest checkpoint gives way to the next
// newest with a warning; the Saver then renames its files to *.broken. Readers
// (evaluators, exporters) never change the directory, and retry when the chief
// deletes a checkpoint under their hands.
//
// Equal snapshots give files that are equal to the byte; only the list has
// timestamps.
package checkpoint
