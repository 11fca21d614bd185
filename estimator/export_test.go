package estimator

import "github.com/goestimator/goestimator/internal/gpus"

// WithGPUs replaces this machine's GPUs.
func WithGPUs(s gpus.Source) Option {
	return func(e *Estimator) error { e.gpus = s; return nil }
}
