// Package hdf5 reads the datasets of numbers in HDF5 files of the kinds that h5py and
// Keras write: superblocks 0 to 3; groups by symbol tables or link messages; datasets that
// are compact, contiguous or in chunks behind a B-tree, with the filters shuffle, deflate and
// Fletcher-32. Attributes, strings, compound types, links to other files, and groups and chunk
// indices that only libver="latest" writes are not read; what is not supported is an error where it is met.
//
// Source: the HDF5 File Format Specification, version 3.0. All reads of a file's structure
// together are bounded by a multiple of its size, so that structures that lead in a circle end.
package hdf5
