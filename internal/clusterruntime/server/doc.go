// Package server makes a process a task of a TensorFlow cluster, as tf.train.Server does: a MasterService for
// clients that open sessions, and a WorkerService for masters, on one port.
package server
