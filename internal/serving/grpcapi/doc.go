// Package grpcapi serves TensorFlow Serving's gRPC services, PredictionService and ModelService, from
// an inference.Service and a servable.Catalog. The service descriptions are written by hand on the messages' own file
// descriptors, so that reflection and generated clients of any language find the real full names.
//
// SessionService and PredictionService's streaming methods are not implemented in TensorFlow Serving, nor here:
// callers get UNIMPLEMENTED.
package grpcapi
