// Package dataset runs input pipelines as tf.data defines them: sources, transformations, and passes over their elements.
//
// A Dataset is a description; a pass over it is an Iterator. Orders are TensorFlow's, also the order of shuffled elements for a seed
// too. After an error a pass goes on with the element that follows. What transformations keep is counted in a Room.
// Whatever runs beside the caller ends when it has nothing to do, and with the iterator.
package dataset
