// Package boosted predicts with the boosted trees of tf.estimator (BoostedTreesClassifier and BoostedTreesRegressor, until TensorFlow 2.9).
// Features are numbers of buckets or of categories; the results are the results of TensorFlow's op BoostedTreesPredict.
package boosted
