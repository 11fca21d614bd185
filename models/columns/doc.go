// Package columns makes the first layer of a model of feature columns: what
// inputs/feature computed of the raw features on the host becomes one dense
// tensor, or the output of a linear model. The variables have the names and
// shapes that tf.estimator gives them in checkpoints:
//
//	dnn/input_from_feature_columns/input_layer/job_embedding/embedding_weights
//	linear/linear_model/job/weights
//	linear/linear_model/bias_weights
//
// The definitions follow DenseFeatures, LinearModel and SequenceFeatures in
// tensorflow/python/feature_column (TensorFlow 2.15).
package columns
