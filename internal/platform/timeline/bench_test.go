package timeline

import (
	"context"
	"testing"
)

func BenchmarkBegin(b *testing.B) {
	ctx := context.Background()
	run := func(b *testing.B) {
		for range b.N {
			_, end := Begin(ctx, Event{Line: Runs, Name: "dense/MatMul", Op: "MatMul"})
			end()
		}
	}
	b.Run("without a capture", run)
	r, err := Start(1 << 24)
	if err != nil {
		b.Fatal(err)
	}
	defer r.End()
	b.Run("captured", run)
}
