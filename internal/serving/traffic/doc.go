// Package traffic says how the requests of a model are divided between its versions: which share of those that name no version
// each one gets, and which version gets copies. It extends TensorFlow Serving's ModelConfig by the two fields for that.
package traffic
