// Package warmup replays recorded requests on a model before it serves, so that the first client does not wait for
// one-time work such as compiling and allocating. The records are in a SavedModel's
// assets.extra/tf_serving_warmup_requests, a TFRecord file of at most 1000 PredictionLogs, as TensorFlow Serving reads it.
package warmup
