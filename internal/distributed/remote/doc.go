// Package remote runs functions of one task on others, as tf.distribute's
// ClusterCoordinator does: a Coordinator queues calls, and each worker takes the next
// one when it has finished the previous one.
//
//	c := remote.Start(workers, remote.Options{})
//	value, err := c.Schedule(ctx, remote.Call{Function: "step"})
//	err = c.Join(ctx)
//	tensors, err := value.Fetch(ctx)
//	err = c.Close(ctx)
//
// # Rules
//
// A worker runs one function at a time. A call is run at least once: if the worker is
// lost meanwhile, the call returns to the head of the queue. Resources, such as each
// worker's data set, are made on a worker before it runs functions, and again in each
// of its sessions.
//
// The first error of a function ends running calls and marks queued ones with
// ErrCancelled. The next Schedule, Join or Done returns it, once nothing is running.
// After that the Coordinator can be used again. If the variables are lost
// (ErrServersLost) the rules are the same.
//
// # Transport
//
// Worker and Session are the interfaces to whatever runs functions. NewClient's
// Worker reaches a task of a cluster, whose Server runs them with an Executor: one
// stream for each session, with a FunctionRequest for each function and a
// FunctionReply for its end. The stream ends if either side is lost. A separate call,
// which may arrive before the request, asks a function to end.
package remote
