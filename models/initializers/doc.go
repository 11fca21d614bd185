// Package initializers fills the initial values of variables, by TensorFlow's
// names and definitions (tf.compat.v1.initializers, tf.keras.initializers).
//
// Random ones draw from Philox4x32-10 with the key they are given and nothing
// else, so a variable's value depends on the model's seed and its name alone.
package initializers
