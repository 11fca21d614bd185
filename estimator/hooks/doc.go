// Package hooks observes and controls the loops of an Estimator: it saves
// checkpoints, logs, writes summaries and stops training. A hook sees the loop
// through the small interfaces Setup and Run. Hooks with lower priority numbers run
// first. The checkpoint saver runs late, so that it saves what other hooks did.
package hooks
