// Package warmup replays recorded requests on a model before it serves, so that the first client does not wait for
// what happens once: compiling, allocating. The records lie in a SavedModel at
// assets.extra/tf_serving_warmup_requests, a TFRecord file of at most 1000 PredictionLogs, as TensorFlow Serving reads it.
package warmup
