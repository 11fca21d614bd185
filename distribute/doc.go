// Package distribute holds strategies for programs that write their own loops, as
// tf.distribute does: a Strategy owns variables, builds step functions over them
// once, and runs each on all its replicas.
//
// The text of a loop does not depend on the strategy, which a RunConfig names:
//
//	s, err := distribute.New(rc)
//	data, err := s.Distribute(dataset, 128, distribute.ShardAuto)
//	train, err := s.Function("train", models.Train, trainStep)
//	step, err := s.Restore(ctx)
//	it, err := data.Iterate(ctx)
//	for {
//		batch, err := it.Next(ctx) // io.EOF at the end, in all tasks
//		res, err := train.Run(ctx, batch)
//	}
//	prefix, err := s.Save(ctx)
//	err = s.Close(ctx)
//
// # Functions
//
// A function is built by Strategy.Function: its text makes Gorgonia nodes of the
// arguments that it declares (Context.Arg) and of variables, and names what it
// returns. It is built once, for any batch. Functions that make a variable of the
// same name share it, so that a GAN is two functions, each with an optimizer for
// variables of its own. A variable has one optimizer, which functions may share.
//
// Each run of a training function is a step: it adds one to the global step,
// which learning rates follow and which names checkpoints.
//
// # Replicas and tasks
//
// A Batch has a part for each local replica. In a cluster every task runs the same
// loop on its share of the data. Under multi_worker_mirrored the tasks are in lock
// step: they run the same training functions in the same order, and Restore, Save,
// Metric.Result, Reduce and Gather are called by all of them between the same two steps; other calls at once are
// an error that wraps ErrDiffer. A task that calls Close before the others does so where they run
// the first training function next.
//
// # One loop for all workers
//
// With parameter_server the chief alone may have the loop: a Coordinator schedules
// functions by name (Strategy.Remote) on workers that are in Strategy.Work.
//
// # Evaluation and prediction
//
// An Evaluation counts every row once: on all replicas and tasks in lock step (Run), in shards on workers
// (Coordinator.Evaluate), or in an evaluator task (EvaluateCheckpoints). Function.Predict and Coordinator.Predict yield
// results in the order of the rows.
//
// # Errors
//
// Where a peer was lost and may come back the error wraps ErrSessionLost: each task
// calls Restore again, begins a new pass by Iterate, and goes on from the newest checkpoint, or from the beginning where there is none.
package distribute
