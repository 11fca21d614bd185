package session_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSizesOfCallers: if callers choose the sizes of tensors, a model neither allocates the memory for them nor
// reports a server error.
func TestSizesOfCallers(t *testing.T) {
	one := tensor.Scalar(float32(1))
	row, err := tensor.FromSlice([]float32{1, 2}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	long := graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	result := func(d tensor.DType) graph.Type { return graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}} }
	for op, build := range map[string]func(b *graph.Builder, x graph.Output) graph.Output{
		"Fill": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("Fill", "y", result(tensor.Float32), graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int64}, x, b.Const("c", one))
		},
		"BroadcastTo": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("BroadcastTo", "y", result(tensor.Float32), graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int64}, b.Const("c", one), x)
		},
		"Tile": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("Tile", "y", result(tensor.Float32), graph.Attrs{"T": tensor.Float32, "Tmultiples": tensor.Int64}, b.Const("c", row), x)
		},
		"Reshape": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("Reshape", "y", result(tensor.Float32), graph.Attrs{"T": tensor.Float32, "Tshape": tensor.Int64}, b.Const("c", row), x)
		},
	} {
		t.Run(op, func(t *testing.T) {
			b := graph.NewBuilder(graph.New())
			x := b.Placeholder("x", long)
			y := build(b, x)
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			s, err := session.Load(context.Background(), metaGraph(t, b.Graph, x, y), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, sizes := range [][]int64{{1 << 20, 1 << 20}, {1 << 40, 1 << 40}, {math.MaxInt64, 2}, {-1, -1}, {math.MinInt64, 1}, {0, math.MaxInt64}, {1 << 32, 1 << 32}, {-5, 3}} {
				ctx, stop := context.WithTimeout(context.Background(), time.Minute)
				_, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": ints(t, sizes)}, []string{"y:0"})
				stop()
				if c := status.Code(err); c != codes.InvalidArgument && c != codes.ResourceExhausted {
					t.Errorf("%v: got %v", sizes, err)
				}
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d MiB were taken", took>>20)
			}
		})
	}
}

func ints(t testing.TB, v []int64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
