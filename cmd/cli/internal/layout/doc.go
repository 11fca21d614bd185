// Package layout places the tasks of a job on hosts by a named layout, and writes
// the TF_CONFIG of each task.
package layout
