// Package export writes trained models as TensorFlow SavedModels, which
// TensorFlow, TensorFlow Serving and this project's own server load.
//
// A Model is given as graphs of the intermediate representation, one for each
// mode, with their inputs and outputs. SavedModel rewrites them to ops
// that TensorFlow has on a CPU, leaves the batch size open, adds a serving input
// and signatures, and adds the ops that save and restore variables.
package export
