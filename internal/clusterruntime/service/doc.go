// Package service binds functions to the methods of TensorFlow's gRPC services, for calls from other
// processes and for calls within one.
//
// The paths are "/tensorflow.MasterService/<method>" and "/tensorflow.WorkerService/<method>", as in TensorFlow's servers
// (tensorflow/core/distributed_runtime/rpc/grpc_{master,worker}_service_impl.cc). They differ from the package names in its
// .proto files.
package service
