package eager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// contents formats the elements of an int64 or string tensor.
func contents(v Value) string {
	if v.T.DType == tensor.String {
		var all []string
		for _, s := range v.T.Strings {
			all = append(all, string(s))
		}
		return strings.Join(all, " ")
	}
	return strings.Trim(fmt.Sprint(tensor.Values[int64](v.T)), "[]")
}

func int32Of(n int32) Value { return Value{T: tensor.Scalar(n)} }

// TestShuffledAsTensorFlow: the order is RandomShuffleQueue's in TensorFlow with the graph's seed 87654321 and the op's seed 7.
func TestShuffledAsTensorFlow(t *testing.T) {
	s := newSession(t)
	attrs := queueAttrs("", tensor.Int64)
	attrs["capacity"], attrs["min_after_dequeue"], attrs["seed"], attrs["seed2"] = int64(20), int64(2), int64(87654321), int64(7)
	types := graph.Attrs{"component_types": []tensor.DType{tensor.Int64}}
	q := s.run("RandomShuffleQueueV2", attrs)
	s.run("QueueEnqueueManyV2", nil, q, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	got := []string{contents(s.run("QueueDequeueManyV2", types, q, int32Of(4)))}
	for range 4 {
		got = append(got, contents(s.run("QueueDequeueV2", types, q)))
	}
	s.run("QueueCloseV2", nil, q)
	got = append(got, contents(s.run("QueueDequeueUpToV2", types, q, int32Of(9))))
	if text := strings.Join(got, " "); text != "3 10 5 4 0 8 7 6 9 1 11 2" {
		t.Errorf("got %s", text)
	}
	attrs["min_after_dequeue"] = int64(20)
	s.refuse("min_after_dequeue 20 must be < capacity 20", "RandomShuffleQueueV2", attrs)
}

// TestPrioritiesAsTensorFlow: elements of equal priority are dequeued in TensorFlow's order.
func TestPrioritiesAsTensorFlow(t *testing.T) {
	s := newSession(t)
	attrs := queueAttrs("", tensor.String)
	attrs["capacity"] = int64(20)
	types := graph.Attrs{"component_types": []tensor.DType{tensor.Int64, tensor.String}}
	q := s.run("PriorityQueueV2", attrs)
	s.run("QueueEnqueueManyV2", nil, q, []int64{3, 1, 2, 1, 3, 2, 1, 1, 0, 2, 3, 0}, strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11"))
	var got []string
	for range 5 {
		out, err := s.try("QueueDequeueV2", types, q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, contents(out[1]))
	}
	s.run("QueueEnqueueManyV2", nil, q, []int64{1, 1, 2}, strings.Fields("a b c"))
	out, err := s.try("QueueDequeueManyV2", types, q, int32Of(10))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(append(got, contents(out[1])), " "); text != "8 11 6 1 3 7 a b 2 5 c 9 0 10 4" {
		t.Errorf("got %s", text)
	}
	s.refuse("Expected the priority element to be a scalar", "QueueEnqueueV2", nil, s.run("PriorityQueueV2", graph.Attrs{"component_types": []tensor.DType{}, "shared_name": []byte("none")}), []int64{1})
}

// TestPadding: elements of different sizes are padded to the largest in their batch.
func TestPadding(t *testing.T) {
	s := newSession(t)
	attrs := graph.Attrs{"component_types": []tensor.DType{tensor.Int64, tensor.String}, "shapes": []graph.Shape{{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}, {Dims: []graph.Dim{graph.Unknown}}}}
	q := s.run("PaddingFIFOQueueV2", attrs)
	s.run("QueueEnqueueV2", nil, q, tensorOf([]int64{1, 2, 3, 4, 5, 6}, 3, 2), []string{"a"})
	s.run("QueueEnqueueV2", nil, q, tensorOf([]int64{7, 8, 9}, 1, 3), []string{"b", "c"})
	s.run("QueueEnqueueV2", nil, q, tensorOf([]int64{}, 0, 5), []string{})
	out, err := s.try("QueueDequeueManyV2", graph.Attrs{"component_types": []tensor.DType{tensor.Int64, tensor.String}}, q, int32Of(3))
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(out[0]); got != "1 2 0 0 0 3 4 0 0 0 5 6 0 0 0 7 8 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0" {
		t.Errorf("numbers: got %s of shape %v", got, out[0].T.Shape)
	}
	if got := contents(out[1]); got != "a  b c  " {
		t.Errorf("texts: got %q", got)
	}
	s.refuse("Shape mismatch in tuple component 0. Expected [?,?], got [1]", "QueueEnqueueV2", nil, q, []int64{1}, []string{})
	s.refuse("Shapes must be provided for all components, but received 1 dtypes and 0 shapes.", "PaddingFIFOQueueV2", graph.Attrs{"component_types": []tensor.DType{tensor.Int64}})
}

// TestSharedNames: names that TensorFlow refuses, and separate containers.
func TestSharedNames(t *testing.T) {
	s := newSession(t)
	attrs := queueAttrs("_q", tensor.Int64)
	s.refuse("shared_name cannot start with '_':_q", "FIFOQueueV2", attrs)
	attrs["shared_name"], attrs["container"] = []byte("q"), []byte("-a")
	s.refuse("container contains invalid characters: -a", "FIFOQueueV2", attrs)
	attrs["container"] = []byte("a")
	own := s.run("FIFOQueueV2", attrs)
	s.env.Resources.Clear()
	if s.run("FIFOQueueV2", attrs).Resource != own.Resource {
		t.Error("container a was cleared with the default one")
	}
	s.refuse("Expected FIFOQueue, found PaddingFIFOQueue", "PaddingFIFOQueueV2", attrs)
}

// TestAccumulators: gradients add up until there are enough; gradients of earlier steps are dropped.
func TestAccumulators(t *testing.T) {
	s := newSession(t)
	attrs := graph.Attrs{"dtype": tensor.Float32, "shape": graph.ShapeOf(2), "shared_name": []byte("a")}
	for _, form := range []struct{ make, prefix string }{{"ConditionalAccumulator", ""}, {"ResourceConditionalAccumulator", "Resource"}} {
		attrs["shared_name"] = []byte(form.make)
		a, prefix := s.run(form.make, attrs), form.prefix+"Accumulator"
		s.run(prefix+"ApplyGradient", nil, a, int64(0), []float32{1, 2})
		s.run(prefix+"ApplyGradient", nil, a, int64(3), []float32{3, 6})
		s.expect(s.run(prefix+"NumAccumulated", nil, a), "int32[] 2")
		s.refuse("Shape mismatch: expected [2], got [3]", prefix+"ApplyGradient", nil, a, int64(0), []float32{1, 2, 3})
		s.expect(s.run(prefix+"TakeGradient", nil, a, int32Of(2)), "float32[2] 2 4")
		s.run(prefix+"ApplyGradient", nil, a, int64(0), []float32{1, 2})
		s.expect(s.run(prefix+"NumAccumulated", nil, a), "int32[] 0")
		s.run(prefix+"SetGlobalStep", nil, a, int64(7))
		s.run(prefix+"ApplyGradient", nil, a, int64(6), []float32{1, 2})
		s.run(prefix+"ApplyGradient", nil, a, int64(7), []float32{5, 7})
		s.expect(s.run(prefix+"TakeGradient", nil, a, int32Of(1)), "float32[2] 5 7")
		s.refuse("Argument num_required must be positive, but was 0", prefix+"TakeGradient", nil, a, int32Of(0))
		s.refuse("Argument local_step must be scalar", prefix+"ApplyGradient", nil, a, []int64{0}, []float32{1, 2})
		s.refuse("expected a gradient of type float, got int64", prefix+"ApplyGradient", nil, a, int64(9), []int64{0, 1})
	}
	attrs["reduction_type"], attrs["shared_name"] = []byte("SUM"), []byte("sum")
	a := s.run("ConditionalAccumulator", attrs)
	s.run("AccumulatorApplyGradient", nil, a, int64(0), []float32{1, 2})
	s.run("AccumulatorApplyGradient", nil, a, int64(0), []float32{3, 6})
	s.expect(s.run("AccumulatorTakeGradient", nil, a, int32Of(2)), "float32[2] 4 8")
}

// TestSparseAccumulators: each row is averaged over its gradients.
func TestSparseAccumulators(t *testing.T) {
	s := newSession(t)
	a := s.run("SparseConditionalAccumulator", graph.Attrs{"dtype": tensor.Float32, "shape": graph.ShapeOf(9, 2), "shared_name": []byte("a")})
	apply, known := "SparseAccumulatorApplyGradient", graph.Attrs{"has_known_shape": true}
	s.run(apply, known, a, int64(0), []int64{1, 4}, tensorOf([]float32{1, 2, 3, 4}, 2, 2), []int64{9, 2})
	s.run(apply, graph.Attrs{"has_known_shape": false}, a, int64(0), []int64{0, 4}, tensorOf([]float32{5, 6, 5, 8}, 2, 2), []int64{})
	for text, in := range map[string][]any{
		"index of slice 0 exceeded limits of shape; index is 9 exceeded 9": {[]int64{9}, tensorOf([]float32{1, 2}, 1, 2), []int64{9, 2}},
		"Shape mismatch: expected shape dim 0 to be 9, got 8":              {[]int64{1}, tensorOf([]float32{1, 2}, 1, 2), []int64{8, 2}},
		"Shape mismatch: expected values dim 1 to be 2, got 1":             {[]int64{1}, tensorOf([]float32{1}, 1, 1), []int64{9, 2}},
		"Shape mismatch: expected values rank 2, got 1":                    {[]int64{1}, []float32{1}, []int64{9, 2}},
		"Expected 2 non-empty input values, got 1":                         {[]int64{1, 2}, tensorOf([]float32{1, 2}, 1, 2), []int64{9, 2}},
		"Shape mismatch: expected shape rank at least 2, got 1":            {[]int64{1}, tensorOf([]float32{1, 2}, 1, 2), []int64{9}},
	} {
		s.refuse(text, apply, known, append([]any{a, int64(0)}, in...)...)
	}
	out, err := s.try("SparseAccumulatorTakeGradient", nil, a, int32Of(2))
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "int64[3] 0 1 4")
	s.expect(out[1], "float32[3 2] 5 6 1 2 4 6")
	s.expect(out[2], "int64[2] 9 2")
	if used := s.env.Resources.room.Used(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
	s.refuse("expected an accumulator of gradients that are sparse: false", "AccumulatorApplyGradient", nil, a, int64(9), []float32{1})
}
