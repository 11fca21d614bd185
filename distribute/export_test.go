package distribute

import "github.com/goestimator/goestimator/internal/runtime/gpus"

// WithGPUs replaces this machine's GPUs.
func WithGPUs(s gpus.Source) Option { return func(o *options) { o.gpus = s } }

// Ahead returns the number of batches that were read after the latest one.
func (it *Iterator) Ahead() int { return len(it.ahead) }
