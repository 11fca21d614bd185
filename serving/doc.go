// Package serving is the model server: it loads SavedModels, serves TensorFlow
// Serving's gRPC and REST APIs for them, and drains before it ends.
//
// New makes a Server from Options, Run serves until its context ends, and Reload replaces the list of models. Package
// serving/client is a client in Go.
package serving
