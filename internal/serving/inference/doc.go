// Package inference answers TensorFlow Serving's prediction requests from loaded models, without a transport:
// Predict, Classify, Regress, MultiInference and GetModelMetadata. Semantics, status codes and texts are
// as in TensorFlow Serving (servables/tensorflow and model_servers of its sources).
//
// The methods that take requests serve gRPC; PredictTensors, PredictFrom, ClassifyExamples and RegressExamples do the
// same without protocol buffers, for the REST interface. Every error carries a gRPC status. Observers see every call,
// for metrics and request logs.
//
// The types of inputs are checked against the signature. Shapes are left to the model, as in TensorFlow Serving, where
// a signature's shape is not binding (half_plus_two says [-1,1] and accepts [3]).
package inference
