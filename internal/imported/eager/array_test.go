package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func flow() Value { return Value{T: tensor.Scalar(float32(0))} }

// TestStacks: the last element pushed is popped first.
func TestStacks(t *testing.T) {
	s := newSession(t)
	elem := graph.Attrs{"elem_type": tensor.Int64, "stack_name": []byte("k")}
	k := s.run("StackV2", elem, int32Of(2))
	s.expect(s.run("StackPushV2", nil, k, int64(5)), "int64[] 5")
	s.run("StackPushV2", nil, k, int64(6))
	s.refuse("Stack[k] overflowed its max_size (2)", "StackPushV2", nil, k, int64(7))
	s.refuse("Must have type int64", "StackPushV2", nil, k, []float32{7})
	s.expect(s.run("StackPopV2", elem, k), "int64[] 6")
	s.expect(s.run("StackPopV2", elem, k), "int64[] 5")
	s.refuse("Stack[k] is empty when calling Pop().", "StackPopV2", elem, k)
	s.run("StackCloseV2", nil, k)
	s.refuse("Stack[k] has already been closed.", "StackPushV2", nil, k, int64(7))
	s.refuse("expected a stack", "StackPopV2", elem, s.run("FIFOQueueV2", queueAttrs("", tensor.Int64)))
}

// TestArrays: elements are written once and read once; gradients are summed.
func TestArrays(t *testing.T) {
	s := newSession(t)
	attrs := graph.Attrs{"dtype": tensor.Float32, "element_shape": graph.ShapeOf(2), "tensor_array_name": []byte("a"), "identical_element_shapes": true}
	a := s.run("TensorArrayV3", attrs, int32Of(3))
	write, read := "TensorArrayWriteV3", "TensorArrayReadV3"
	s.run(write, nil, a, int32Of(0), []float32{1, 2}, flow())
	s.run("TensorArrayScatterV3", nil, a, Value{T: tensorOf([]int32{2, 1}, 2)}, tensorOf([]float32{5, 6, 3, 4}, 2, 2), flow())
	s.expect(s.run("TensorArraySizeV3", nil, a, flow()), "int32[] 3")
	for text, in := range map[string][]any{
		"Tried to write to index 3 but array is not resizeable and size is: 3": {a, int32Of(3), []float32{1, 2}, flow()},
		"Tried to write to index -1":                                                     {a, int32Of(-1), []float32{1, 2}, flow()},
		"the value shape is [3] which is incompatible":                                   {a, int32Of(0), []float32{1, 2, 3}, flow()},
		"the value dtype is int64 but TensorArray dtype is float32":                      {a, int32Of(0), []int64{1, 2}, flow()},
		"Could not write to TensorArray index 0 because it has already been written to.": {a, int32Of(0), []float32{1, 2}, flow()},
	} {
		s.refuse(text, write, nil, in...)
	}
	g := s.run("TensorArrayGradV3", graph.Attrs{"source": []byte("g")}, a, flow())
	if s.run("TensorArrayGradV3", graph.Attrs{"source": []byte("g")}, a, flow()).Resource != g.Resource {
		t.Error("a source has two arrays of gradients")
	}
	first := tensorOf([]float32{1, 1}, 2)
	s.run(write, nil, g, int32Of(1), first, flow())
	s.run(write, nil, g, int32Of(1), []float32{2, 3}, flow())
	s.expect(s.run(read, nil, g, int32Of(1), flow()), "float32[2] 3 4")
	s.expect(Value{T: first}, "float32[2] 1 1")
	s.expect(s.run(read, nil, g, int32Of(0), flow()), "float32[2] 0 0")
	s.expect(s.run("TensorArrayGatherV3", nil, a, Value{T: tensorOf([]int32{2, 0}, 2)}, flow()), "float32[2 2] 5 6 1 2")
	s.refuse("Could not read index 0 twice", read, nil, a, int32Of(0), flow())
	s.refuse("Tried to read from index 3 but array size is: 3", read, nil, a, int32Of(3), flow())
	s.run("TensorArrayCloseV3", nil, a)
	s.refuse("TensorArray a has already been closed.", read, nil, a, int32Of(1), flow())
	s.refuse("Size should be >= 0.", "TensorArrayV3", attrs, int32Of(-1))
	s.refuse("too large", "TensorArrayV3", attrs, int32Of(1<<30))
}

// TestSplitArrays: parts of different sizes can be joined again.
func TestSplitArrays(t *testing.T) {
	s := newSession(t)
	a := s.run("TensorArrayV3", graph.Attrs{"dtype": tensor.Int64, "dynamic_size": true, "clear_after_read": false}, int32Of(0))
	s.refuse("not fully defined", "TensorArrayGatherV3", nil, a, Value{T: tensorOf([]int32{}, 0)}, flow())
	s.run("TensorArraySplitV3", nil, a, []int64{1, 2, 3, 4}, []int64{1, 0, 3}, flow())
	out, err := s.try("TensorArrayConcatV3", nil, a, flow())
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "int64[4] 1 2 3 4")
	s.expect(out[1], "int64[3] 1 0 3")
	s.refuse("inconsistent shapes", "TensorArrayGatherV3", nil, a, Value{T: tensorOf([]int32{0, 2}, 2)}, flow())
	s.refuse("Expected sum of lengths", "TensorArraySplitV3", nil, a, []int64{1, 2}, []int64{3}, flow())
}
