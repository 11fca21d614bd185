// Package savedmodel reads and writes TensorFlow's SavedModels, the directories
// that models are exported to and served from:
//
//	saved_model.pb           the graphs, each a MetaGraphDef with tags (or saved_model.pbtxt, as text)
//	fingerprint.pb           hashes that identify the model; optional
//	variables/variables.*    the values of the variables, a TensorBundle
//	assets/                  files that the graphs read
//	assets.extra/            files for others, such as warm-up requests
//
// Read takes directories from anywhere: bad input is an error, never
// a panic, and memory stays in proportion to the files. Nothing is executed.
//
// Write publishes a directory atomically: it writes the files to a temporary directory, makes them durable,
// and renames it, so that anyone who polls the base directory sees all of it or nothing.
package savedmodel
