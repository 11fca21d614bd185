// Package yggdrasil reads models of Yggdrasil Decision Forests, the library below TensorFlow Decision Forests, from their directory:
// header.pb, data_spec.pb, the header of the kind of model, and the nodes of the trees in blob sequences.
//
// The messages are those of Yggdrasil 1.8: yggdrasil_decision_forests/{model,dataset}/*.proto. Models are of trees (random forests, CART and
// gradient boosted trees); others are refused by name. A damaged file is an error, never a panic, and what a model takes in memory is
// bounded by the size of its files.
package yggdrasil
