// Package cluster is the transport of a distributed job: one gRPC server per
// task, connections to the other tasks, frames of raw bytes, security.
package cluster
