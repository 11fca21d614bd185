// Package treeensemble has the messages in which tf.estimator's boosted trees (until TensorFlow 2.9) store an ensemble. They are generated from
// tree_ensemble.proto, which documents them.
package treeensemble

//go:generate go -C ../../distributed/wire/gen run . -in ../../../format/treeensemble/tree_ensemble.proto -out ../../../format/treeensemble/tree_ensemble.pb.go
