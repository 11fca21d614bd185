// Package worker is TensorFlow's WorkerService: it holds the variables of a task, registers the task's part of a
// graph, runs it step by step, and sends tensors to other workers that ask for them.
package worker
