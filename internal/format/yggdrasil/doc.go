// Package yggdrasil reads models of Yggdrasil Decision Forests, the library under TensorFlow Decision Forests, from their directory:
// header.pb, data_spec.pb, the header for the kind of model, and the nodes of the trees in blob sequences.
//
// The messages are those of Yggdrasil 1.8: yggdrasil_decision_forests/{model,dataset}/*.proto. Models must consist of trees (random forests, CART and
// gradient boosted trees); others are refused by name. A damaged file is an error, never a panic, and the memory of a model is
// bounded by the size of its files.
package yggdrasil
