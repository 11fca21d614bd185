package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

// TestCrowd: 64 callers use signatures that read and update a variable, batches of all sizes of other models, and invalid
// feeds; the counter must equal the number of updates that were answered.
func TestCrowd(t *testing.T) {
	counter, network := load(t, "saved_model_counter/00000123"), mlp(t, session.Options{MaxConcurrent: 2})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var callers sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	for k := range 64 {
		callers.Go(func() {
			for i := range 6 {
				switch (k + i) % 4 {
				case 0:
					if _, err := tryCall(counter, "incr_counter", nil); err != nil {
						t.Error(err)
					}
					mu.Lock()
					counted++
					mu.Unlock()
				case 1:
					if _, err := tryCall(counter, "get_counter", nil); err != nil {
						t.Error(err)
					}
				case 2:
					rows := 1 + (k*7+i)%33
					out, err := network.Run(ctx, map[string]*tensor.Tensor{"x:0": random(k, rows, mlpSizes[0])}, []string{network.Signatures()["serving_default"].Outputs["t"].GetName()})
					if err != nil || out[0].Shape[0] != rows {
						t.Errorf("%d rows: %v", rows, err)
					}
				case 3:
					if _, err := network.Run(ctx, map[string]*tensor.Tensor{"x:0": random(k, 2, 3+k)}, []string{network.Signatures()["serving_default"].Outputs["t"].GetName()}); err == nil {
						t.Error("rows that do not fit were answered")
					}
				}
			}
		})
	}
	callers.Wait()
	near(t, "counter", call(t, counter, "get_counter", nil)["output"], float32(counted))
}
