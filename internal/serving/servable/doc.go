// Package servable defines the interfaces between the parts of the model server: a Model that computes tensors by name,
// and a Loader that makes one from a directory.
package servable
