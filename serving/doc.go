// Package serving is the model server: it loads SavedModels, answers TensorFlow
// Serving's gRPC and REST APIs on them, and drains before it ends.
//
// The parts are packages of their own: manager (which versions are loaded),
// inference (what a request means), grpcapi and rest (the two APIs), batching,
// monitoring, requestlog, security, tracing and warmup. A Server puts them together and
// owns the ports.
package serving
