package eager

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestLists: TensorFlow's lists by their ops.
func TestLists(t *testing.T) {
	s := newSession(t)
	f32 := graph.Attrs{"element_dtype": tensor.Float32, "shape_type": tensor.Int64}
	any := int64(-1)
	l := s.run("TensorListReserve", f32, []int64{2}, int64(3))
	s.expect(s.run("TensorListLength", nil, l), "int32[] 3")
	s.expect(s.run("TensorListElementShape", f32, l), "int64[1] 2")
	set := s.run("TensorListSetItem", f32, l, int64(1), []float32{4, 5})
	s.expect(s.run("TensorListStack", f32, set, any), "float32[3 2] 0 0 4 5 0 0")
	s.expect(s.run("TensorListStack", f32, l, any), "float32[3 2] 0 0 0 0 0 0") // lists do not change
	s.expect(s.run("TensorListGetItem", f32, set, int64(1), any), "float32[2] 4 5")
	s.expect(s.run("TensorListGetItem", f32, set, int64(2), any), "float32[2] 0 0")
	s.expect(s.run("TensorListGather", f32, set, []int64{1, 0, 1}, any), "float32[3 2] 4 5 0 0 4 5")
	s.expect(s.run("TensorListStack", f32, s.run("TensorListResize", nil, set, int64(2)), any), "float32[2 2] 0 0 4 5")

	grows := graph.Attrs{"resize_if_index_out_of_bounds": true}
	s.expect(s.run("TensorListStack", f32, s.run("TensorListSetItem", grows, set, int64(4), []float32{6, 7}), any), "float32[5 2] 0 0 4 5 0 0 0 0 6 7")
	s.refuse("list with 3 elements", "TensorListSetItem", nil, set, int64(3), []float32{1, 2})
	s.refuse("list with 3 elements", "TensorListGetItem", nil, set, int64(-1), any)
	s.refuse("incompatible shape", "TensorListSetItem", nil, set, int64(0), []float32{1})
	s.refuse("expected shape", "TensorListStack", nil, set, []int64{3})
	s.refuse("Invalid data types", "TensorListPushBack", nil, set, []int64{1, 2})
	s.refuse("expected a list with 7", "TensorListStack", graph.Attrs{"num_elements": int64(7)}, set, any)
	s.refuse("expected a list of tensors", "TensorListLength", nil, s.run("VarHandleOp", nil))
	s.refuse("not fully defined", "TensorListGetItem", nil, s.run("TensorListReserve", f32, any, int64(1)), int64(0), any)
	s.refuse("at least 0", "TensorListReserve", f32, any, int64(-2))
	s.refuse("at least -1", "TensorListReserve", f32, []int64{-2}, int64(1))
	s.refuse("not supported", "TensorListReserve", graph.Attrs{"element_dtype": tensor.Resource}, any, int64(1))

	pushed := s.run("EmptyTensorList", f32, any, int64(10))
	for i := range 3 {
		pushed = s.run("TensorListPushBack", nil, pushed, []float32{float32(i)})
	}
	popped, err := s.try("TensorListPopBack", nil, pushed, any)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(popped[1], "float32[1] 2")
	s.expect(s.run("TensorListLength", nil, popped[0]), "int32[] 2")
	s.expect(s.run("TensorListStack", f32, pushed, any), "float32[3 1] 0 1 2")
	full := s.run("EmptyTensorList", f32, any, int64(3))
	for range 3 {
		full = s.run("TensorListPushBack", nil, full, []float32{0})
	}
	s.refuse("full list list size: 3 max_num_elements: 3", "TensorListPushBack", nil, full, []float32{1})
	s.refuse("empty list", "TensorListPopBack", nil, s.run("EmptyTensorList", f32, any, any), any)

	rows := tensorOf([]float32{1, 2, 3, 4}, 2, 2)
	s.expect(s.run("TensorListStack", f32, s.run("TensorListFromTensor", nil, rows, any), any), "float32[2 2] 1 2 3 4")
	s.expect(s.run("TensorListStack", f32, s.run("TensorListScatterV2", nil, rows, []int64{2, 0}, any, int64(-1)), any), "float32[3 2] 3 4 0 0 1 2")
	s.refuse("an index for each", "TensorListScatter", nil, rows, []int64{2}, any)
	s.refuse("non-negative", "TensorListScatter", nil, rows, []int64{2, -1}, any)
	s.refuse("at least a vector", "TensorListFromTensor", nil, int64(1), any)
	joined, err := s.try("TensorListConcatV2", nil, s.run("TensorListPushBack", nil, pushed, []float32{8, 9}), any, []int64{})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(joined[0], "float32[5] 0 1 2 8 9")
	s.expect(joined[1], "int64[4] 1 1 1 2")
	words := s.run("TensorListFromTensor", nil, []string{"a", "b"}, any)
	s.expect(s.run("TensorListGetItem", nil, words, int64(1), any), `string[] "b"`)
}

// TestListLimit: a list may take no more memory than a tensor.
func TestListLimit(t *testing.T) {
	s := newSession(t)
	s.env.Limit = 1 << 12
	f32 := graph.Attrs{"element_dtype": tensor.Float32}
	if _, err := s.try("TensorListReserve", f32, int64(-1), int64(1<<30)); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	// Rows without elements take memory too: a few bytes of a request can state a large number of them.
	rows, indices := tensor.New(tensor.Float32, 1<<26, 0), tensorOf([]int64{0}, 1)
	if _, err := s.try("TensorListFromTensor", f32, rows, int64(-1)); !errors.Is(err, ErrLimit) {
		t.Errorf("rows without elements: got %v", err)
	}
	if _, err := s.try("TensorListScatter", f32, rows, indices, int64(-1)); !errors.Is(err, ErrLimit) {
		t.Errorf("rows without elements: got %v", err)
	}
	l := s.run("EmptyTensorList", f32, int64(-1), int64(-1))
	for i := range 100 {
		out, err := s.try("TensorListPushBack", nil, l, make([]float32, 100))
		if err != nil {
			if most := s.env.Limit / int64(listHeader+tensorHeader+400); !errors.Is(err, ErrLimit) || int64(i) != most {
				t.Errorf("element %d: %v, expected %d elements", i, err, most)
			}
			return
		}
		l = out[0]
	}
	t.Error("a list of 40000 bytes was made")
}

// TestVersions: all versions of a list keep their elements, in whatever order they are made and read.
func TestVersions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := call{ctx: context.Background(), env: &Env{}}
	first, err := newList(c, tensor.Int64, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	lists, want := []*tensorList{first}, [][]int64{{0, 0, 0}}
	for step := range 3000 {
		k := r.IntN(len(lists))
		if r.IntN(3) > 0 {
			k = len(lists) - 1
		}
		l, w := lists[k], slices.Clone(want[k])
		value := int64(step + 1)
		switch op := r.IntN(4); {
		case op == 0 || l.n == 0:
			l, err = l.with(c, l.n, Value{T: tensor.Scalar(value)})
			w = append(w, value)
		case op == 1:
			l = l.without()
			w = w[:len(w)-1]
		default:
			i := r.IntN(l.n)
			l, err = l.with(c, i, Value{T: tensor.Scalar(value)})
			w[i] = value
		}
		if err != nil {
			t.Fatal(err)
		}
		lists, want = append(lists, l), append(want, w)
		k = r.IntN(len(lists))
		var got []int64
		bytes := 0
		for _, x := range lists[k].elements() {
			v := int64(0)
			if x.T != nil {
				v = tensor.Values[int64](x.T)[0]
			}
			got = append(got, v)
			bytes += listHeader + weight(x)
		}
		if !slices.Equal(got, want[k]) || lists[k].bytes != bytes || lists[k].n != len(got) {
			t.Fatalf("step %d: version %d is %v, %d bytes, expected %v, %d bytes", step, k, got, lists[k].bytes, want[k], bytes)
		}
	}
}
