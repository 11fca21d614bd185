// Package runconfig configures how and where a training run takes place.
//
// It has two parts. [RunConfig] is like tf.estimator.RunConfig: an immutable description
// of one task of a run, with its place in the cluster from TF_CONFIG. [Config] is the
// whole config file, read by [Load]. Of several sources of a value the first one wins:
// --set, the environment, TF_CONFIG, the file, the defaults.
//
// All mistakes are reported at once, as a [*ViolationsError] whose entries name the
// field, the value found and what was expected.
package runconfig
