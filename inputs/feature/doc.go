// Package feature turns raw columns of record batches into what a model reads:
// the feature columns of TensorFlow, with the same ids, the same numbers and the
// same names, and Keras' preprocessing layers.
//
// A column is plain data:
//
//	age := &feature.Numeric{Key: "age"}
//	ages := &feature.Bucketized{Of: age, Boundaries: []float64{18, 25, 30}}
//	job := &feature.HashBucket{Key: "occupation", Size: 1000}
//	plan, err := feature.New(feature.Columns{
//		Linear: []feature.Column{ages, job, &feature.Crossed{Of: []feature.Column{ages, feature.Key("occupation")}, Size: 10000}},
//		Dense:  []feature.Column{age, &feature.Embedding{Of: job, Dimension: 8}},
//	})
//	ds = inputs.Pipe(ds, inputs.Batch(128, true), plan.Transform(2), inputs.Prefetch(2))
//
// A Plan has two halves. On the host, Transform replaces the feature columns of each record by the result
// of the columns: dense float32 vectors, and ragged int64 ids with optional float32 weights. Columns
// are computed in parallel, each from the memory of the record. A column that several others use is computed
// once. Labels and weights pass through.
//
// For the model, Linear, Dense and Sequence say which columns of the transformed
// records each column became, and which variables it has: an Input is plain data.
//
// An exported model has no host side: its graph has the columns as TensorFlow
// operations on serialized examples or raw features.
//
// Users write their own columns as a Formula of other columns, or as a Mapping of
// values to ids.
//
// Columns can also be declared in a config file: see Spec and Build.
//
// The semantics follow tensorflow/python/feature_column of TensorFlow 2.15, and are compared with golden
// values in testdata. Where TensorFlow would continue with invalid values (a NaN, an id out of range), the
// result is an inputs.RowError that names the column, the row and the value.
package feature
