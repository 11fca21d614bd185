// Package monitoring counts what the server does, for Prometheus: TensorFlow
// Serving's metrics under its names, and beside them counts by version and
// signature, of batches, of gRPC calls and of the process.
//
// What a client writes never becomes a label: models that the server does not
// know, and signatures that they do not have, are counted together.
package monitoring
