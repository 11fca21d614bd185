// Package profiler answers TensorFlow's ProfilerService, with which TensorBoard and tf.profiler.experimental.client capture what a server
// does: its requests, batches and runs, and the nodes of runs. The capture is sent to the caller, who writes it to the folder in the
// request; the server writes no file.
package profiler
