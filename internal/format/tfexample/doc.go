// Package tfexample reads serialized tf.train.Example messages without making
// objects from them: it finds the features of an example, counts their values and
// reads those into the caller's slices.
//
// It accepts what protocol buffers accept: fields in any order, packed and
// unpacked numbers, messages in parts to be merged, unknown fields. Malformed
// bytes are reported, never a panic. Results alias the example's bytes.
package tfexample
