// Package xspace converts a capture to TensorFlow's XSpace, the form in which TensorBoard's profile plugin reads what a program did: a plane for the
// host, with lines of events that may be nested but do not overlap, and with names and values as metadata.
package xspace
