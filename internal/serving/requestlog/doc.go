// Package requestlog keeps what was asked and answered: PredictionLog records in
// TFRecord files, as TensorFlow Serving's LoggingConfig says per model, and lines
// of an access log.
//
// Requests do not wait for the disk: records go through a queue of bounded size,
// and what does not fit is dropped and counted.
package requestlog
