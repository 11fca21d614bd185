// Package report makes one offline HTML page of what a model_dir holds: learning
// curves, final metrics, histograms, checkpoints and the run's config. The page
// has everything inside; it loads nothing from anywhere.
package report
