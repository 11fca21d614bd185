package eager

import (
	"context"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestSumsOfLists: lists are added element by element, and so are lists and optionals in them. Unset elements count as zero.
func TestSumsOfLists(t *testing.T) {
	s := newSession(t)
	any, f32 := int64(-1), graph.Attrs{"element_dtype": tensor.Float32}
	empty := s.run("TensorListReserve", f32, []int64{-1}, int64(3))
	a := s.run("TensorListSetItem", nil, s.run("TensorListSetItem", nil, empty, int64(0), []float32{1, 2}), int64(1), []float32{3, 4})
	b := s.run("TensorListSetItem", nil, s.run("TensorListReserve", f32, []int64{2}, int64(3)), int64(1), []float32{10, 20})
	sum := s.run("AddN", nil, a, b, b)
	s.expect(s.run("TensorListStack", f32, sum, any), "float32[3 2] 1 2 23 44 0 0")
	s.expect(s.run("TensorListElementShape", graph.Attrs{"shape_type": tensor.Int32}, sum), "int32[1] 2")
	s.expect(s.run("TensorListStack", f32, s.run("ZerosLike", nil, a), any), "float32[3 2] 0 0 0 0 0 0")
	s.refuse("not fully defined", "TensorListStack", f32, s.run("ZerosLike", nil, empty), any)
	s.expect(s.run("TensorListStack", f32, a, any), "float32[3 2] 1 2 3 4 0 0") // lists do not change

	s.refuse("different lengths", "AddN", nil, a, s.run("TensorListReserve", f32, any, int64(4)))
	s.refuse("different dtypes", "AddN", nil, a, s.run("TensorListReserve", graph.Attrs{"element_dtype": tensor.Int32}, any, int64(3)))
	s.refuse("incompatible element shapes", "AddN", nil, a, s.run("TensorListReserve", f32, []int64{3, 4}, int64(3)))
	s.refuse("incompatible element shapes", "AddN", nil, a, s.run("TensorListSetItem", nil, empty, int64(0), []float32{1}))
	s.refuse("two tensors, two lists", "AddN", nil, a, []float32{1})
	s.refuse("two tensors, two lists", "AddN", nil, []float32{1}, a)
	s.refuse("expected a variable", "ZerosLike", nil, Value{Resource: &iterator{}})
	for _, op := range []string{"StopGradient", "PreventGradient"} {
		s.expect(s.run("TensorListLength", nil, s.run(op, nil, a)), "int32[] 3")
		s.refuse("expected a variable", op, nil, Value{Resource: &iterator{}})
	}
}

// TestListsOfLists: elements of type variant are lists or optionals.
func TestListsOfLists(t *testing.T) {
	s := newSession(t)
	any, variants := int64(-1), graph.Attrs{"element_dtype": tensor.Variant}
	inner := s.run("TensorListFromTensor", nil, []float32{1, 2}, any)
	some := s.run("OptionalFromValue", nil, []float32{5})
	outer := s.run("EmptyTensorList", variants, any, any)
	for _, v := range []Value{inner, some} {
		outer = s.run("TensorListPushBack", nil, outer, v)
	}
	sum := s.run("AddN", nil, outer, outer)
	s.expect(s.run("TensorListStack", nil, s.run("TensorListGetItem", nil, sum, int64(0), any), any), "float32[2] 2 4")
	got := graph.Attrs{"output_types": []tensor.DType{tensor.Float32}}
	s.expect(s.run("OptionalGetValue", got, s.run("TensorListGetItem", nil, sum, int64(1), any)), "float32[1] 10")
	zeros := s.run("ZerosLike", nil, outer)
	s.expect(s.run("TensorListStack", nil, s.run("TensorListGetItem", nil, zeros, int64(0), any), any), "float32[2] 0 0")
	s.refuse("Invalid data types", "TensorListPushBack", nil, outer, []float32{1})
	s.refuse("Invalid data types", "TensorListPushBack", nil, inner, inner)

	for range maxDepth - 2 {
		outer = s.run("TensorListPushBack", nil, s.run("EmptyTensorList", variants, any, any), outer)
	}
	s.refuse("in each other", "TensorListPushBack", nil, s.run("EmptyTensorList", variants, any, any), outer)
	s.refuse("in each other", "OptionalFromValue", nil, outer)
}

// TestListsAtOnce: nodes of a step use versions of a list concurrently.
func TestListsAtOnce(t *testing.T) {
	c := call{ctx: context.Background(), env: &Env{}}
	first, err := newList(c, tensor.Int64, []int{}, 8)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for g := range int64(4) {
		done.Go(func() {
			l := first
			for i := range int64(200) {
				var err error
				switch i % 3 {
				case 0:
					l, err = l.with(c, l.n, Value{T: tensor.Scalar(g)})
				case 1:
					l, err = l.with(c, int(i)%l.n, Value{T: tensor.Scalar(g)})
				default:
					l = l.without()
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range l.elements() {
					if v.T != nil && tensor.Values[int64](v.T)[0] != g {
						t.Errorf("the list of %d has an element of %d", g, tensor.Values[int64](v.T)[0])
						return
					}
				}
			}
		})
	}
	done.Wait()
	for i, v := range first.elements() {
		if v != (Value{}) {
			t.Errorf("element %d of the first version changed", i)
		}
	}
}
