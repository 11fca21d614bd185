package eager

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestUpdates: optimizers, scatters and gradients have TensorFlow 2.15's results and refusals.
func TestUpdates(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[goldenSequence](t, "testdata/updates.json.gz") {
		if err := c.compare(t, 3e-6); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, s := range c.Steps {
			seen[s.Op] = true
		}
	}
	for op, why := range unrecorded {
		if why == byUpdates && !seen[op] {
			t.Errorf("%s has no recorded update: add one to interop/eager_updates.py", op)
		}
	}
}

// TestUpdateInPlace: a value that was read elsewhere never changes; an unshared value changes in place.
func TestUpdateInPlace(t *testing.T) {
	s := newSession(t)
	v := s.run("VarHandleOp", nil)
	s.run("AssignVariableOp", nil, v, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	read := graph.Attrs{"dtype": tensor.Float32}
	before := s.run("ReadVariableOp", read, v)
	add := func() {
		s.run("ResourceScatterAdd", nil, v, []int64{1, 1}, tensorOf([]float32{1, 1, 1, 1}, 2, 2))
	}
	add()
	own := v.Resource.(*hostVariable).t
	add()
	s.expect(s.run("ResourceGather", nil, v, []int64{1}), "float32[1 2] 7 8")
	add()
	if v.Resource.(*hostVariable).t != own {
		t.Error("a value that nobody else has was copied")
	}
	s.expect(s.run("ReadVariableOp", read, v), "float32[2 2] 1 2 9 10")
	s.expect(before, "float32[2 2] 1 2 3 4")
}

// TestUpdateRefused: updates that don't fit fail, and leave the variables unchanged.
func TestUpdateRefused(t *testing.T) {
	s := newSession(t)
	v, a := s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("v")}), s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("a")})
	grad := tensorOf([]float32{1, 1}, 1, 2)
	s.refuse("not initialized", "ResourceApplyGradientDescent", nil, v, tensor.Scalar(float32(1)), grad)
	s.run("AssignVariableOp", nil, v, tensorOf([]float32{1, 2}, 1, 2))
	s.refuse("not initialized", "ResourceApplyAdagrad", nil, v, a, tensor.Scalar(float32(1)), grad)
	s.run("AssignVariableOp", nil, a, tensorOf([]float32{1}, 1))
	s.refuse("expected a variable of float32 and shape [1 2], got float32 of shape [1]", "ResourceApplyAdagrad", nil, v, a, tensor.Scalar(float32(1)), grad)
	s.refuse("is there twice", "ResourceApplyAdagrad", nil, v, v, tensor.Scalar(float32(1)), grad)
	s.refuse("expected a scalar of type float32, got float64", "ResourceApplyGradientDescent", nil, v, tensor.Scalar(1.0), grad)
	s.refuse("do not have the same shape", "ResourceApplyGradientDescent", nil, v, tensor.Scalar(float32(1)), []float32{1, 1})
	s.refuse("type int64 not supported", "ResourceApplyGradientDescent", nil, v, int64(1), int64(1))
	s.refuse("is not in [0, 1)", "ResourceScatterSub", nil, v, []int64{1}, grad)
	s.expect(s.run("ReadVariableOp", nil, v), "float32[1 2] 1 2")
	if _, err := s.try("ResourceCountUpTo", graph.Attrs{"limit": int64(0)}, s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("n")})); !errors.Is(err, ErrUninitialized) {
		t.Errorf("got %v", err)
	}
}

// TestUpdatesAtOnce: updates of two variables in both orders do not deadlock, and none is lost.
func TestUpdatesAtOnce(t *testing.T) {
	s := newSession(t)
	a, b := s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("a")}), s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("b")})
	for _, v := range []Value{a, b} {
		s.run("AssignVariableOp", nil, v, []float32{0})
	}
	var wg sync.WaitGroup
	for _, pair := range [][2]Value{{a, b}, {b, a}} {
		wg.Go(func() {
			for range 200 {
				if _, err := s.try("ResourceApplyMomentum", nil, pair[0], pair[1], tensor.Scalar(float32(0)), []float32{1}, tensor.Scalar(float32(1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, v := range []Value{a, b} {
		if got := tensor.Values[float32](s.run("ReadVariableOp", nil, v).T); !slices.Equal(got, []float32{200}) {
			t.Errorf("got %v, expected 200", got)
		}
	}
}
