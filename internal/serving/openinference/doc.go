// Package openinference answers the Open Inference Protocol (KServe's v2) from the service that answers TensorFlow
// Serving's: its datatypes, tensors as raw bytes or typed contents, which signature a request means, metadata and
// the model repository. The gRPC methods are those of Service; package rest reads the JSON form.
package openinference
