// Package cluster is a client of servers that speak TensorFlow's cluster protocol: `goestimator server`, and TensorFlow's
// own (tf.distribute.Server).
//
// A graph is built by Build with the ops of models/ops, or read from a GraphDef. A Session runs parts of it on the
// cluster: what a step fetches is computed by the tasks that its ops are placed on.
//
//	g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
//		b.Device(setter, func() {
//			...
//		})
//		return nil
//	})
//	s, err := cluster.Dial(ctx, "grpc://worker0:2222", g)
//	err = s.Initialize(ctx)
//	out, err := s.Run(ctx, cluster.Feeds{"x": x}, []string{"loss"}, "train")
//	err = s.Close(ctx)
//
// # Placement
//
// Builder.Device gives the ops that a function makes a device such as "/job:ps/task:1", or one that a Placement chooses:
// a ReplicaDeviceSetter distributes variables over the parameter servers. Ops without a device run on the task that the session
// was opened at; updates run where their variable is.
//
// # Variables
//
// Variables belong to the tasks and outlive sessions: several programs that build one graph train the same variables.
// One of them initializes; the others wait until [Session.Uninitialized] names no variable.
//
// # Errors
//
// A lost or restarted task ends the step with an error that wraps ErrLost: the program opens a new session, restores the variables
// that were lost, and goes on. Package inprocess has servers for tests.
package cluster
