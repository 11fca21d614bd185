// Package events sorts the summaries of a model_dir by run, which is a folder
// of event files, and tag, as TensorBoard does.
package events
