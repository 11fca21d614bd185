// Package canned holds the models of tf.estimator that take feature columns instead
// of a model_fn:
//
//	classifier := canned.DNNLinearCombinedClassifier{
//		Linear:      []feature.Column{job, ages, crossed},
//		DNN:         []feature.Column{age, &feature.Embedding{Of: job, Dimension: 8}},
//		HiddenUnits: []int{100, 50},
//	}
//	est, err := classifier.New(estimator.WithModelDir("runs/adult"))
//
// Everything follows TensorFlow 2's tf.estimator: options and defaults,
// definitions, names and shapes of variables, names of optimizer state and of
// summaries. Training can therefore continue from a checkpoint of tf.estimator, and
// the other way round.
//
// DCNEstimator, TwoTower and LanguageModel are additional models that tf.estimator does not have.
//
// The columns run on the host, before a batch is fed: a Model applies them to the
// data set of every input_fn (estimator.Preparer). Config files name a model and
// its parameters: see Named.
package canned
