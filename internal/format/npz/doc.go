// Package npz reads NumPy's arrays: files with one array (NPY), and ZIP archives with a member NAME.npy per array
// (NPZ), stored or deflated. Source: numpy/lib/format.py; it reads the versions 1 to 3.
// Arrays of Python objects, which are pickles, are refused.
package npz
