// Package manager keeps the models of a server: it finds versions below base
// paths, loads the versions that the config asks for, swaps them without
// interrupting service, and lends them by reference counts.
//
// Its behaviour, config (ModelServerConfig) and error texts are TensorFlow
// Serving's. Beyond these, reloads scan at once, failed versions are tried again
// when their directory changes, a label may name a version of the same reload,
// models may be loaded on their first request, and ended versions are forgotten
// in the end.
package manager
