// Package boosted asks the ensembles of tf.estimator's boosted trees (BoostedTreesClassifier and BoostedTreesRegressor, until TensorFlow 2.9):
// trees over features that are numbers of buckets or of categories, as the op BoostedTreesPredict does.
package boosted
