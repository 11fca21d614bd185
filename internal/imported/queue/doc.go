// Package queue has what steps of TensorFlow's graphs wait at: queues, accumulators of gradients, and barriers. What one step
// puts in, another one takes out.
package queue
