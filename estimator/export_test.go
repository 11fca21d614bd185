package estimator

import "github.com/goestimator/goestimator/internal/runtime/gpus"

// WithGPUs replaces this machine's GPUs.
func WithGPUs(s gpus.Source) Option {
	return func(e *Estimator) error { e.gpus = s; return nil }
}
