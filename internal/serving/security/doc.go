// Package security makes TLS settings for the server's ports, from TensorFlow
// Serving's SSLConfig or from files that are read again when they change, and
// checks bearer tokens.
package security
