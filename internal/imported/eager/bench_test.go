package eager

import (
	"context"
	"fmt"
	"testing"

	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// bench runs a prepared node.
func bench(b *testing.B, n *graph.Node, in ...Value) {
	b.Helper()
	k, err := Prepare(n)
	if err != nil {
		b.Fatal(err)
	}
	count, err := Outputs(n)
	if err != nil {
		b.Fatal(err)
	}
	out, ctx := make([]Value, count), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := k(ctx, nil, in, out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseExample: 64 rows like the census's: 26 features, half of
// them dense floats and half sparse strings.
func BenchmarkParseExample(b *testing.B) {
	const rows, each = 64, 13
	n := &graph.Node{Name: "n", Op: "ParseExampleV2", Attrs: graph.Attrs{"num_sparse": int64(each)}}
	var sparse, dense [][]byte
	var types, floats []tensor.DType
	var shapes []graph.Shape
	in := []Value{{}, {T: texts()}, {}, {}, {T: texts()}}
	e := &example.Example{Features: &example.Features{Feature: map[string]*example.Feature{}}}
	for i := range each {
		s, d := fmt.Sprintf("categorical_%d", i), fmt.Sprintf("numeric_%d", i)
		e.Features.Feature[s] = &example.Feature{Kind: &example.Feature_BytesList{BytesList: &example.BytesList{Value: [][]byte{[]byte("some value")}}}}
		e.Features.Feature[d] = &example.Feature{Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: []float32{float32(i)}}}}
		sparse, dense = append(sparse, []byte(s)), append(dense, []byte(d))
		types, floats, shapes = append(types, tensor.String), append(floats, tensor.Float32), append(shapes, graph.ShapeOf(1))
		in = append(in, Value{T: tensorOf([]float32{0}, 1)})
	}
	n.Attrs["sparse_types"], n.Attrs["Tdense"], n.Attrs["dense_shapes"] = types, floats, shapes
	wire, err := proto.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	all := tensor.New(tensor.String, rows)
	for i := range all.Strings {
		all.Strings[i] = wire
	}
	in[0].T = all
	in[2].T, _ = tensor.FromStrings(sparse, each)
	in[3].T, _ = tensor.FromStrings(dense, each)
	bench(b, n, in...)
	b.ReportMetric(float64(rows*2*each*b.N)/b.Elapsed().Seconds()/1e6, "Mfeatures/s")
}

// BenchmarkEmbedding gathers 4096 rows of 64 floats, and sums them in groups of 8 ids.
func BenchmarkEmbedding(b *testing.B) {
	const ids, width = 4096, 64
	table := tensor.New(tensor.Float32, 100000, width)
	idx, seg := make([]int64, ids), make([]int32, ids)
	for i := range idx {
		idx[i], seg[i] = int64(i*7919%100000), int32(i/8)
	}
	for _, op := range []string{"GatherV2", "SparseSegmentSum"} {
		b.Run(op, func(b *testing.B) {
			b.SetBytes(ids * width * 4)
			last := Value{T: tensorOf(seg, ids)}
			if op == "GatherV2" {
				last = Value{T: tensor.Scalar(int32(0))}
			}
			bench(b, &graph.Node{Name: "n", Op: op}, Value{T: table}, Value{T: tensorOf(idx, ids)}, last)
		})
	}
}

// BenchmarkSmall measures the overhead of a node.
func BenchmarkSmall(b *testing.B) {
	x := Value{T: tensorOf([]float32{1, 2, 3, 4}, 4)}
	for _, op := range []string{"Identity", "AddV2", "Shape"} {
		b.Run(op, func(b *testing.B) {
			in := []Value{x, x}
			if op != "AddV2" {
				in = in[:1]
			}
			bench(b, &graph.Node{Name: "n", Op: op}, in...)
		})
	}
}

// BenchmarkAdd runs an elementwise op on large tensors.
func BenchmarkAdd(b *testing.B) {
	x := Value{T: tensor.New(tensor.Float32, 1<<16)}
	b.SetBytes(3 << 18)
	bench(b, &graph.Node{Name: "n", Op: "AddV2"}, x, x)
}
