// Package service binds functions to the methods of TensorFlow's gRPC services, for calls from other
// processes and for calls within one.
//
// The paths are "/tensorflow.MasterService/<method>" and "/tensorflow.WorkerService/<method>", as TensorFlow's servers
// have them (tensorflow/core/distributed_runtime/rpc/grpc_{master,worker}_service_impl.cc). These differ from the packages of
// its .proto files.
package service
