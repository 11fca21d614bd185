// Package queue has the queues of TensorFlow's graphs: steps that put elements in and take elements out wait for each other.
package queue
