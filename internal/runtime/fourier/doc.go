// Package fourier computes discrete Fourier transforms of any length n in O(n log n): powers of two by Cooley and Tukey's algorithm,
// other lengths by Bluestein's. A Plan has the roots of unity of one length and is made once. Its Workers transform one line after
// the other.
package fourier
