// Package runconfig says how and where a training run is made.
//
// It has two halves. [RunConfig] is tf.estimator's value of the same name: an
// immutable description of one task of a run, its place in the cluster taken
// from TF_CONFIG. [Config] is the whole config file, read by [Load], which lays
// --set over the environment over TF_CONFIG over the file over the defaults.
//
// Everything that is wrong is reported at once, as a [*ViolationsError] whose
// entries name the field, the value found and what was expected.
package runconfig
