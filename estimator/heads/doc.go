// Package heads holds the last part of a model: heads turn logits into losses,
// predictions, metrics and signatures. They have the names and definitions of
// tf.estimator's heads (TensorFlow 2.15, tf.estimator.*Head). A head and a network make
// a model_fn:
//
//	est, err := estimator.New(heads.MultiClass(10).Of(networks.MLP(128)), estimator.WithOptimizer(optimizers.Adam(0.002)))
//
// Constructors return no error: estimator.New reports wrong options of a head.
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
// The label vocabulary turns words into ids before a batch is fed
// (estimator.Encoder), and predicted ids into words after it was run (estimator.Text).
// Weights are the feature that WithWeightColumn names, or else the input's column of
// the role weight. A label out of range, for which tf.estimator has an assertion in the
// graph, is an error that names column, row and value. Regression has rmse and mae in
// addition to tf.estimator's metrics.
package heads
