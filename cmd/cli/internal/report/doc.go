// Package report writes the content of a model_dir as an HTML page: learning
// curves, final metrics, histograms, checkpoints and the run's config. The page
// is self-contained and works offline.
package report
