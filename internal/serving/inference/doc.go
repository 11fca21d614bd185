// Package inference answers TensorFlow Serving's prediction requests from loaded models, without a transport:
// Predict, Classify, Regress, MultiInference and GetModelMetadata. Semantics, status codes and texts are
// as in TensorFlow Serving (servables/tensorflow and model_servers of its sources).
//
// The methods on requests serve gRPC; PredictTensors, PredictFrom, ClassifyExamples and RegressExamples are the same
// without protocol buffers, for the REST interface. Every error carries a gRPC status. Observers
// hear of every call: metrics and request logs.
//
// The types of inputs are checked against the signature; shapes are the model's own to check, as in TensorFlow Serving,
// where a signature's shape does not bind (half_plus_two says [-1,1] and takes [3]).
package inference
