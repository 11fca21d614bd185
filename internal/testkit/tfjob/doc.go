// Package tfjob is a stand-in for Kubeflow's TFJob operator and the kubelet in
// tests: it runs the replicas of a job as processes of this machine, with the
// TF_CONFIG, restart, success and clean-up rules of training-operator 1.9.
package tfjob
