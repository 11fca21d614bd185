// Package estimator trains, evaluates and runs models that users describe by
// two functions: a model_fn, which builds the graph of one mode, and an
// input_fn, which opens the data. The rest is the framework's: the loop,
// checkpoints, summaries, evaluation, resuming after a crash.
//
// The contracts are tf.estimator's, with what its users missed: predicting and
// evaluating again reuse the compiled program, the input position survives a
// restart, and a killed run that is started again ends with the checkpoint that
// an uninterrupted one writes.
package estimator
