// Package heads turns logits into losses, predictions, metrics and signatures:
// the last part of a model, by the names and definitions of tf.estimator's
// heads (TensorFlow 2.15, tf.estimator.*Head). A head of a network is a model_fn:
//
//	est, err := estimator.New(heads.MultiClass(10).Of(networks.MLP(128)), estimator.WithOptimizer(optimizers.Adam(0.002)))
//
// Constructors return no error: a head made with wrong options keeps it, and
// estimator.New reports it.
//
//	head              loss                          labels
//	BinaryClass       sigmoid cross-entropy         0 or 1, or one of two words
//	MultiClass        softmax cross-entropy         class ids, or words
//	MultiLabel        mean sigmoid cross-entropy    0 or 1 per class, or lists of ids or words
//	Regression        squared error                 numbers
//	Poisson           log-Poisson                   counts
//	Logistic          sigmoid cross-entropy         numbers in 0..1
//	Reconstruction    squared error                 the features
//	Multi             weighted sum over its heads   one label per head, by its name
//
// Words become ids before a batch is fed (estimator.Encoder), and predicted ids
// become words after it was run (estimator.Text), both by the label vocabulary.
// Weights are the feature that WithWeightColumn names, else the input's column of
// the role weight. Where tf.estimator asserts on a label's range in the graph,
// the error here names column, row and value. Regression has rmse and mae besides
// tf.estimator's metrics.
package heads
