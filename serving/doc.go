// Package serving is the model server: it loads SavedModels, answers TensorFlow
// Serving's gRPC and REST APIs on them, and drains before it ends.
//
// New makes a Server of Options, Run serves until its context ends, and Reload takes another list of models. Package
// serving/client is a client in Go.
package serving
