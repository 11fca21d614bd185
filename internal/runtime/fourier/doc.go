// Package fourier computes discrete Fourier transforms of any length n in O(n log n): powers of two by Cooley and Tukey's method, other lengths
// by Bluestein's. A Plan keeps the roots of unity of one length; it is made once, and its Workers transform line after line.
package fourier
