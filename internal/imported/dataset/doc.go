// Package dataset runs input pipelines as tf.data defines them: sources, transformations, and passes over their elements.
//
// A Dataset is a description; an Iterator is one pass over it. Elements come in TensorFlow's order, and so do shuffled ones for a given
// seed. After an error, a pass continues with the next element. A Room counts the memory that transformations keep.
// Background goroutines end when they run out of work, and with the iterator.
package dataset
