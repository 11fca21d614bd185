// Package forest computes the predictions of Yggdrasil Decision Forests models, bit for bit as TensorFlow Decision Forests 1.8.1 does.
//
// That library has several engines, with different sums and rules for missing values; a model's trees decide which engine it gets
// (see engine.go). All sum in float32 in the order of the trees, except the slow engine, which sums in float64.
package forest
