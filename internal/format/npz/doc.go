// Package npz reads NumPy's archives of arrays: ZIP files with a member NAME.npy for each
// array, stored or deflated. Source: numpy/lib/format.py, whose versions 1 to 3 it reads.
// Arrays of Python objects, which are pickles, are refused.
package npz
