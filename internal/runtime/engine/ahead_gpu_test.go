package engine_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// TestFeedsAheadOnGPU brings batches to the GPU beside runs, and enqueues runs.
func TestFeedsAheadOnGPU(t *testing.T) {
	d := gpu(t)
	t.Run("ahead", func(t *testing.T) { engine.AheadOn(t, d) })
	t.Run("enqueue", func(t *testing.T) { engine.EnqueueOn(t, d) })
}
