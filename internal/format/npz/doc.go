// Package npz reads NumPy's arrays: files of one (NPY), and ZIP archives with a member NAME.npy for each
// (NPZ), stored or deflated. Source: numpy/lib/format.py, whose versions 1 to 3 it reads.
// Arrays of Python objects, which are pickles, are refused.
package npz
