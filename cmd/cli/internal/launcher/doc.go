// Package launcher runs the tasks of a job as processes on this machine, by the
// rules of Kubeflow's TFJob. It also writes the files that run the same job on
// Kubernetes, Slurm or Ray.
package launcher
