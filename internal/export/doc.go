// Package export writes trained models as TensorFlow SavedModels, which
// TensorFlow, TensorFlow Serving and this project's own server load.
//
// A Model is given as graphs of the intermediate representation, one for each
// mode, with what feeds them and what they offer. SavedModel rewrites them to ops
// that TensorFlow has on a CPU, leaves the batch open, puts a serving input before
// them and signatures behind, and adds the ops that save and restore variables.
package export
