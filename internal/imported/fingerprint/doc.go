// Package fingerprint computes the string hashes of TensorFlow's ops. Models depend
// on them: the ids of hash buckets and of crosses are made from them.
package fingerprint
