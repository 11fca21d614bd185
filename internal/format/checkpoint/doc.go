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
// Loading checks every byte. If the newest checkpoint is damaged, the next
// newest is used, with a warning; the Saver then renames the damaged files to *.broken. Readers
// (evaluators, exporters) never change the directory, and retry if the chief
// deletes a checkpoint while they read it.
//
// Equal snapshots give byte for byte equal files; only the list has
// timestamps.
package checkpoint
