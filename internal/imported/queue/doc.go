// Package queue has the values that steps of TensorFlow's graphs wait at: queues, gradient accumulators, and barriers. One step
// inserts values, and another one takes them out.
package queue
