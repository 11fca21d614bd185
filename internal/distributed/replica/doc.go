// Package replica has the rules by which Kubeflow's TFJob runs the tasks of a
// job, as far as they matter beyond its operator: the TF_CONFIG of a task, and
// when a task that ended is restarted.
package replica
