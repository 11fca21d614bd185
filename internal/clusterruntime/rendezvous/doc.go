// Package rendezvous passes the tensors of a step from producers to consumers.
//
// The parts of a graph that run on several devices exchange tensors by keys. A producer sends under a key,
// a consumer receives under it; either may come first. The form of a key is TensorFlow's
// (tensorflow/core/framework/rendezvous.h), so that its servers can take part.
package rendezvous
