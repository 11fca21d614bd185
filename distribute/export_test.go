package distribute

import "github.com/goestimator/goestimator/internal/runtime/gpus"

// WithGPUs replaces this machine's GPUs.
func WithGPUs(s gpus.Source) Option { return func(o *options) { o.gpus = s } }

// Ahead is how many batches behind the latest one were read.
func (it *Iterator) Ahead() int { return len(it.ahead) }
