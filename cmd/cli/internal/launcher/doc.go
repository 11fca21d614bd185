// Package launcher runs the tasks of a job as processes of this machine, by the
// rules of Kubeflow's TFJob. It also writes the files with which Kubernetes, Slurm or
// Ray run the same job.
package launcher
