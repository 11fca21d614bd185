// Package cluster is a client of servers that speak TensorFlow's cluster protocol: `goestimator server`, and TensorFlow's
// own (tf.distribute.Server).
//
// Build builds a graph with the ops of models/ops; ReadGraph reads a GraphDef. A Session runs parts of a graph on the
// cluster: each op runs on the task where it is placed.
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
// Builder.Device places the ops that a function makes on a device such as "/job:ps/task:1", or on the device that a
// Placement chooses: a ReplicaDeviceSetter distributes variables over the parameter servers. Ops without a device run on
// the task at which the session was opened. Updates run where their variable is.
//
// # Variables
//
// Variables belong to the tasks and outlive sessions: several programs that build the same graph train the same
// variables. One of them initializes; the others wait until [Session.Uninitialized] names no variable.
//
// # Errors
//
// If a task is lost or restarted, the step fails with an error that wraps ErrLost. The program then opens a new session,
// restores the variables that were lost, and continues. Package inprocess has servers for tests.
package cluster
