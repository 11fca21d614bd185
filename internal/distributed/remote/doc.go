// Package remote runs functions of one task on others, as tf.distribute's
// ClusterCoordinator does: a Coordinator puts calls on a queue, and each worker
// takes the next one when it has finished the one before.
//
//	c := remote.Start(workers, remote.Options{})
//	value, err := c.Schedule(ctx, remote.Call{Function: "step"})
//	err = c.Join(ctx)
//	tensors, err := value.Fetch(ctx)
//	err = c.Close(ctx)
//
// # Rules
//
// A worker runs one function at a time. A call is run at least once: where the
// worker is lost meanwhile it goes back to the head of the queue. Resources, such as
// the data set of each worker, are made on a worker before it runs functions, and
// again in every session of it.
//
// The first error of a function ends what runs and marks what is queued with
// ErrCancelled. The next Schedule, Join or Done returns it, once nothing runs any
// more. Then the Coordinator is as new. Where the variables are lost (ErrServersLost)
// the rules are the same.
//
// # Transport
//
// Worker and Session are the interfaces of what runs functions. NewClient's reaches a
// task of a cluster, whose Server runs them by an Executor: one stream for each
// session, with a FunctionRequest for each function and a FunctionReply for its end.
// The stream ends where either side is lost. A function is asked to end by a call
// of its own, which may come before the request.
package remote
