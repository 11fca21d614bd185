// Package tfexample reads serialized tf.train.Example messages without making
// objects of them: it finds the features of an example, counts their values and
// reads those into slices of the caller's.
//
// It accepts what protocol buffers accept: fields in any order, packed and
// unpacked numbers, messages in parts that are merged, unknown fields. Malformed
// bytes are reported, never a panic. What it returns aliases the example's bytes.
package tfexample
