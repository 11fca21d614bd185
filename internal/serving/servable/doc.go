// Package servable says what the parts of the model server agree on: a Model
// that computes tensors by name, and a Loader that makes one of a directory.
package servable
