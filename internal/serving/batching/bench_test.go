package batching

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// What batching costs: requests of one row of 100 numbers to a model that does nothing.
func BenchmarkRun(b *testing.B) {
	echo := &servable.Func{Compute: func(_ context.Context, feeds map[string]*graph.Tensor, _ []string) ([]*graph.Tensor, error) {
		return []*graph.Tensor{feeds["x:0"]}, nil
	}}
	s := NewScheduler(Options{Threads: 2})
	defer s.Close()
	m := New(servable.ID{Name: "echo"}, echo, Defaults(), s)
	feeds := map[string]*graph.Tensor{"x:0": graph.NewTensor(graph.Float32, 1, 100)}
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
