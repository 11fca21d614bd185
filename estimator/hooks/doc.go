// Package hooks observes and steers the loops of an Estimator: saving
// checkpoints, logging, summaries, stopping. A hook sees the loop through the
// small interfaces Setup and Run. Hooks of lower priority numbers run first;
// the checkpoint saver runs last, so that it saves what the others did.
package hooks
