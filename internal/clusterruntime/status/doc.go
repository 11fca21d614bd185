// Package status shows people and Prometheus what a task of a cluster does: a page, the same as JSON, and metrics, over HTTP. It changes
// nothing.
package status
