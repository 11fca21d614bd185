// Package xspace makes TensorFlow's XSpace of a capture, the form in which TensorBoard's profile plugin reads what a program did: a plane of the
// host, on it lines of events that may lie within each other but do not overlap, and names and values as metadata.
package xspace
