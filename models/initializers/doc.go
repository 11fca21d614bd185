// Package initializers fills the initial values of variables, by TensorFlow's
// names and definitions (tf.compat.v1.initializers, tf.keras.initializers).
//
// Random initializers draw from Philox4x32-10 with the given key. So a variable's
// value depends only on the model's seed and the variable's name.
package initializers
