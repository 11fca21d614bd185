package batching

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// The cost of batching: requests of one row of 100 numbers to a model that does nothing.
func BenchmarkRun(b *testing.B) {
	echo := &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{feeds["x:0"]}, nil
	}}
	s := NewScheduler(Options{Threads: 2})
	defer s.Close()
	m := New(servable.ID{Name: "echo"}, echo, Defaults(), s)
	feeds := map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 1, 100)}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := m.Run(context.Background(), feeds, []string{"y:0"}); err != nil {
				b.Error(err)
			}
		}
	})
}
