// Package launcher runs the tasks of a job as processes of this machine, by the
// rules of Kubeflow's TFJob, and writes the files that hand the same job to
// Kubernetes or to Slurm.
package launcher
