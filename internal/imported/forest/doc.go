// Package forest computes what models of Yggdrasil Decision Forests predict, bit for bit as TensorFlow Decision Forests 1.8.1 does.
//
// That library has several engines, whose sums and whose rules for missing values differ: which one a model gets follows from its trees
// (see engine.go). Sums are of float32 in the order of the trees, but for the slow engine, which sums in float64.
package forest
