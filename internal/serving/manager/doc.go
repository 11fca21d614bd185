// Package manager keeps the models of a server: it looks for versions below base
// paths, loads the versions that the config asks for, swaps them without a moment
// in which a model is missing, and hands them out by reference counts.
//
// Its behaviour, config (ModelServerConfig) and error texts are TensorFlow
// Serving's. What it adds: reloads scan at once, failed versions are tried again
// when their directory changes, a label may name a version of the same reload,
// models may be loaded when they are first asked for, and ended versions
// are forgotten in the end.
package manager
