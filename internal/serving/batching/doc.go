// Package batching joins requests that wait for the same model into one run of
// it, with TensorFlow Serving's parameters and errors.
//
// A Scheduler has a fixed number of workers, shared by all models. New wraps a
// model: its Run puts the request in the queue of its input and output names, and a
// worker takes a batch from the queues in turn. A batch is ready when it is full,
// when its oldest request has waited batch_timeout_micros, or when a newer batch has
// begun behind it; with a timeout of zero, the requests that queue while the workers
// are busy become one batch. A request whose context ends leaves the queue.
//
// One request cannot spoil another: feeds whose type differs from the signature's do
// not enter a batch, requests of unusual shapes share one only with their like, and
// when a batch fails because of its arguments, its requests run again one by one. If
// the signature leaves a size open and padding is off, requests that differ in it
// from the first one of their batch are refused with TensorFlow Serving's text,
// which fails the whole batch there.
package batching
