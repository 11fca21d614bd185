// Package master is TensorFlow's MasterService: it keeps the graphs of sessions, divides them over the workers of the
// cluster, and runs their steps.
//
// A session's graph is divided once for each set of feeds, fetches and targets, and the parts are registered with their
// workers; a step then sends feeds, runs the parts at the same time, and collects fetches.
package master
