// Package metricslog appends the metrics of a run to files that people and
// programs read: metrics.csv and metrics.jsonl in its model_dir.
package metricslog
