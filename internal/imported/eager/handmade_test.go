package eager

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// handmade is a node of an op without recorded cases. Its inputs may be outputs of other nodes.
type handmade struct {
	op    string
	attrs graph.Attrs
	in    []any // tensors, and nodes whose output 0 is the input
}

// source returns the node and its inputs.
func (h handmade) source() greedySource {
	return greedySource{h.op, &graph.Node{Name: "n", Op: h.op, Attrs: h.attrs}, h.values, true}
}

func (h handmade) values(env *Env) []Value {
	in := make([]Value, len(h.in))
	for i, x := range h.in {
		switch x := x.(type) {
		case handmade:
			out, err := Run(context.Background(), &graph.Node{Name: "n", Op: x.op, Attrs: x.attrs}, x.values(env), env)
			if err != nil {
				return nil
			}
			in[i] = out[0]
		case *tensor.Tensor:
			in[i].T = x
		}
	}
	return in
}

// sparseParts are the indices, values and shape of a sparse tensor [3, 4].
func sparseParts() []any {
	return []any{tensorOf([]int64{0, 1, 2, 3}, 2, 2), tensorOf([]float32{5, 6}, 2), tensorOf([]int64{3, 4}, 2)}
}

// handmades returns nodes of ops that keep state, or whose kernels take strings of any content.
func handmades(t testing.TB) (all []greedySource) {
	types := func(d ...tensor.DType) []tensor.DType { return d }
	i64, i32 := func(v ...int64) *tensor.Tensor { return tensorOf(v, len(v)) }, func(v ...int32) *tensor.Tensor { return tensorOf(v, len(v)) }
	floats, one := tensorOf([]float32{1, 2, 3, 4, 5, 6}, 3, 2), tensor.Scalar(int64(1))
	barrier := handmade{"Barrier", graph.Attrs{"component_types": types(tensor.Float32, tensor.Int64), "shapes": []graph.Shape{graph.ShapeOf(2), graph.ShapeOf()}, "shared_name": []byte("b")}, nil}
	staged := graph.Attrs{"dtypes": types(tensor.Float32, tensor.Int64), "capacity": int64(4), "memory_limit": int64(1 << 16)}
	mapped := graph.Attrs{"dtypes": types(tensor.Float32, tensor.Int64), "fake_dtypes": types(tensor.Float32), "capacity": int64(4), "memory_limit": int64(1 << 16)}
	add := func(op string, attrs graph.Attrs, in ...any) {
		if !Supported(op) {
			t.Errorf("there is no kernel of %s", op)
		}
		all = append(all, handmade{op, attrs, in}.source())
	}
	add("Barrier", barrier.attrs)
	add("BarrierInsertMany", graph.Attrs{"component_index": int64(0), "T": tensor.Float32}, barrier, texts("a", "b", "c"), floats)
	add("BarrierTakeMany", graph.Attrs{"component_types": types(tensor.Float32, tensor.Int64), "allow_small_batch": true}, barrier, tensor.Scalar(int32(2)))
	add("BarrierClose", graph.Attrs{"cancel_pending_enqueues": false}, barrier)
	add("Stage", staged, floats, one)
	add("Unstage", staged)
	add("StagePeek", staged, tensor.Scalar(int32(0)))
	for _, op := range []string{"Map", "OrderedMap"} {
		add(op+"Stage", mapped, one, i32(0), floats)
		add(op+"Unstage", mapped, one, i32(0, 1))
		add(op+"Peek", mapped, one, i32(0, 1))
		add(op+"UnstageNoKey", mapped, i32(0, 1))
	}
	add("SerializeSparse", graph.Attrs{"T": tensor.Float32}, sparseParts()...)
	add("SerializeManySparse", graph.Attrs{"T": tensor.Float32}, sparseParts()...)
	serial := handmade{"SerializeManySparse", graph.Attrs{"T": tensor.Float32}, sparseParts()}
	add("DeserializeSparse", graph.Attrs{"dtype": tensor.Float32}, serial)
	add("DeserializeManySparse", graph.Attrs{"dtype": tensor.Float32}, serial)
	add("AddSparseToTensorsMap", graph.Attrs{"T": tensor.Float32}, sparseParts()...)
	add("AddManySparseToTensorsMap", graph.Attrs{"T": tensor.Float32}, sparseParts()...)
	add("TakeManySparseFromTensorsMap", graph.Attrs{"dtype": tensor.Float32}, i64(0, 1, 2))
	add("StringFormat", graph.Attrs{"T": types(tensor.Float32, tensor.String), "template": []byte("a %s b %s"), "placeholder": []byte("%s"), "summarize": int64(3)},
		tensor.New(tensor.Float32, 5, 5, 5), texts("x", "\x00\xff"))
	data := handmade{"TensorSliceDataset", graph.Attrs{"Toutput_types": types(tensor.Int64), "output_shapes": []graph.Shape{graph.ShapeOf()}}, []any{i64(1, 2, 2)}}
	add("UniqueDataset", graph.Attrs{"output_types": types(tensor.Int64), "output_shapes": []graph.Shape{graph.ShapeOf()}}, data)
	add("DatasetToGraphV2", nil, data)
	add("DatasetFromGraph", nil, handmade{"DatasetToGraphV2", nil, []any{data}})
	array := handmade{"TensorArrayV3", graph.Attrs{"dtype": tensor.Float32}, []any{tensor.Scalar(int32(3))}}
	add("TensorArrayGradWithShape", graph.Attrs{"source": []byte("g")}, array, tensor.Scalar(float32(0)), i32(2, 3))
	return all
}
