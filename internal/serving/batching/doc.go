// Package batching joins requests that wait for the same model into one run of
// it, with TensorFlow Serving's parameters and errors.
//
// A Scheduler has a fixed number of workers, shared by all models. New wraps a
// model: its Run puts the request in the queue of its input and output names,
// and a worker takes a batch from the queues in turn. A batch is ready where it
// is full, where its oldest request has waited batch_timeout_micros, or where
// another one began behind it; with a time-out of zero what queues while the
// workers are busy becomes one batch. A request whose context ends leaves the
// queue.
//
// One request cannot spoil another: feeds of another type than the signature's
// do not enter a batch, requests of other shapes share one only with their like, and
// where a batch fails for its arguments its requests run again, each alone. Where
// the signature leaves a size open and padding is off, requests that differ in it
// from the first one of their batch are refused, with TensorFlow Serving's text;
// there the whole batch fails.
package batching
