package estimator

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

// WithGPUs replaces this machine's GPUs.
func WithGPUs(s gpus.Source) Option {
	return func(e *Estimator) error { e.gpus = s; return nil }
}

// WithEventsFS replaces the file system of events.
func WithEventsFS(f atomicfile.FS) Option {
	return func(e *Estimator) error { e.eventsFS = f; return nil }
}

// GraphOf returns the graph of a Description.
func GraphOf(d *Description) *graph.Graph { return d.graph }
