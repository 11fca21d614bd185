// Package codec encodes the messages of TensorFlow's cluster runtime for gRPC, as Protocol Buffers.
//
// Tensors of a few kilobytes and more are neither copied when they are sent nor more than once when they are received: the
// encoded message refers to their memory, and a received one is read from where gRPC has put it. TensorFlow does the same
// for the answers of RecvTensor.
package codec
