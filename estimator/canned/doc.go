// Package canned holds the models of tf.estimator that are given feature columns
// instead of a model_fn:
//
//	classifier := canned.DNNLinearCombinedClassifier{
//		Linear:      []feature.Column{job, ages, crossed},
//		DNN:         []feature.Column{age, &feature.Embedding{Of: job, Dimension: 8}},
//		HiddenUnits: []int{100, 50},
//	}
//	est, err := classifier.New(estimator.WithModelDir("runs/adult"))
//
// Options, their defaults (as in TensorFlow 2's tf.estimator), definitions,
// names and shapes of variables, names of optimizer state and names of summaries
// are tf.estimator's, so that a checkpoint can be made by either and trained on
// by the other.
//
// The columns run on the host, before a batch is fed: a Model puts them upon
// the data set of every input_fn (estimator.Preparer). Config files name a model
// and its parameters: see Named.
package canned
