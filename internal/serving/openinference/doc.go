// Package openinference answers the Open Inference Protocol (KServe's v2) with the service that answers TensorFlow
// Serving's: its datatypes, tensors as raw bytes or typed contents, the choice of a signature, metadata and the
// model repository. Service has the gRPC methods; package rest reads the JSON form.
package openinference
