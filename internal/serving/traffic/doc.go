// Package traffic defines how the requests of a model are divided between its versions: each version's share of the requests
// that name none, and the version that gets copies. It adds two fields for this to TensorFlow Serving's ModelConfig.
package traffic
