// Package fingerprint holds the hashes of strings that TensorFlow's ops compute
// and models depend on: ids of hash buckets and of crosses are functions of them.
package fingerprint
