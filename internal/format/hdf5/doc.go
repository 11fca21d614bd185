// Package hdf5 reads the numeric datasets in HDF5 files of the kinds that h5py and
// Keras write: superblocks 0 to 3; groups with symbol tables or link messages; datasets that
// are compact, contiguous or in chunks indexed by a B-tree, with the filters shuffle, deflate and
// Fletcher-32. It does not read attributes, strings, compound types, links to other files, or groups and chunk
// indices that only libver="latest" writes; using an unsupported feature is an error.
//
// Source: the HDF5 File Format Specification, version 3.0. All reads of a file's structure
// together are bounded by a multiple of its size, so that cycles end.
package hdf5
