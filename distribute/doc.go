// Package distribute holds strategies for programs that write their own training
// loops, like tf.distribute. A Strategy owns variables, builds step functions over
// them once, and runs each function on all its replicas.
//
// The code of a loop does not depend on the strategy, which a RunConfig names:
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
// Strategy.Function builds a function. Its Build declares arguments (Context.Arg),
// makes Gorgonia nodes from them and from variables, and names its results. A function
// is built once, for any batch size. Functions that make a variable of the same name
// share it. So a GAN is two functions, each with an optimizer for its own variables. A
// variable has one optimizer, which functions may share.
//
// Each run of a training function is a step: it adds one to the global step, on which
// learning rates and the names of checkpoints depend.
//
// # Replicas and tasks
//
// A Batch has a part for each local replica. In a cluster every task runs the same
// loop on its share of the data. Under multi_worker_mirrored the tasks are in lock
// step: they run the same training functions in the same order, and all of them call
// Restore, Save, Metric.Result, Reduce and Gather between the same two steps. If tasks
// make different calls at the same time, the error wraps ErrDiffer. A task may call Close
// before the others only if the training function that they run next is the first one.
//
// # One loop for all workers
//
// With parameter_server the loop may run only on the chief: a Coordinator schedules
// functions by name (Strategy.Remote) on workers, which call Strategy.Work.
//
// # Evaluation and prediction
//
// An Evaluation counts every row once. It runs on all replicas and tasks in lock step (Run), in shards on workers
// (Coordinator.Evaluate), or in an evaluator task (EvaluateCheckpoints). Function.Predict and Coordinator.Predict
// yield results in the order of the rows.
//
// # Errors
//
// If a peer was lost and may come back, the error wraps ErrSessionLost. Each task then
// calls Restore again, begins a new pass by Iterate, and continues from the newest checkpoint or, without one,
// from the beginning.
package distribute
