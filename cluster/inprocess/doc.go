// Package inprocess runs the servers of a cluster in this process, for tests and notebooks. Like `goestimator server`,
// each is a master and a worker, on a loopback port. Go programs use them through package cluster, Python programs through
// tf.compat.v1.Session(c.Target("worker", 0)).
package inprocess
