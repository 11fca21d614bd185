// Package codec encodes the messages of TensorFlow's cluster runtime for gRPC, as Protocol Buffers.
//
// Tensors of a few kilobytes and more are not copied when they are sent, and copied at most once when they are received:
// the encoded message refers to their memory, and a received one is read from gRPC's buffers. TensorFlow does the same for
// the answers of RecvTensor.
package codec
