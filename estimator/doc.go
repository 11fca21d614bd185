// Package estimator trains, evaluates and runs models. Users describe a model by
// two functions: a model_fn, which builds the graph of one mode, and an input_fn,
// which opens the data. The framework does the rest: the loop, checkpoints,
// summaries, evaluation, resuming after a crash.
//
// The contracts are tf.estimator's, with three additions. Evaluating or predicting
// again reuses the compiled program. The input position survives a restart. A killed
// run that is started again ends with the same checkpoint as an uninterrupted run.
package estimator
