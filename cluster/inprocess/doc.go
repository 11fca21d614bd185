// Package inprocess runs the servers of a cluster in this process, for tests and notebooks: each is a master and a worker, as
// `goestimator server` is, on a port of loopback. Go programs reach them by package cluster, Python by
// tf.compat.v1.Session(c.Target("worker", 0)).
package inprocess
