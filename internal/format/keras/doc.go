// Package keras names the variables in files that Keras saves: HDF5 files of weights or of
// whole models (.h5), and the archives of Keras 2.12 and later (.keras), whose weights are in an HDF5 file
// by class and number. Both get the names that the variables have in Keras, such as "Conv1/kernel".
//
// Source: keras/saving/legacy/hdf5_format.py and keras/saving/saving_lib.py, TensorFlow 2.15.
package keras
