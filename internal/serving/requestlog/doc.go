// Package requestlog logs requests and answers: PredictionLog records in TFRecord
// files, as TensorFlow Serving's LoggingConfig says per model, and lines of an
// access log.
//
// Requests do not wait for the disk: records go through a queue of bounded size,
// and records that do not fit are dropped and counted.
package requestlog
