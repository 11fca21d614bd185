// Package replica holds the rules by which Kubeflow's TFJob runs the tasks of a
// job, as far as others than its operator follow them too: the TF_CONFIG that a
// task is given, and when a task that ended is started again.
package replica
