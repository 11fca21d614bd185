// Package status shows people and Prometheus the state of a cluster task: a page, the same as JSON, and metrics, over HTTP. It is
// read-only.
package status
