// Package savedmodel reads and writes TensorFlow's SavedModels, the directories
// that models are exported to and served from:
//
//	saved_model.pb           the graphs, each a MetaGraphDef with tags (or saved_model.pbtxt, as text)
//	fingerprint.pb           hashes that tell the model from others; optional
//	variables/variables.*    the values of the variables, a TensorBundle
//	assets/                  files that the graphs read
//	assets.extra/            files for others, such as requests to warm up with
//
// Read takes directories from anywhere: what is wrong with one is an error, never
// a panic, and memory stays in proportion to the files. Nothing is executed.
//
// Write publishes a directory whole: it is made beside its place, made durable,
// and then renamed, so that who polls the base directory sees all of it or nothing.
package savedmodel
