package eager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

func TestVariables(t *testing.T) {
	s := newSession(t)
	v := s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("v")})
	read := graph.Attrs{"dtype": tensor.Float32}
	if _, err := s.try("ReadVariableOp", read, v); !errors.Is(err, ErrUninitialized) {
		t.Errorf("got %v, expected ErrUninitialized", err)
	}
	s.expect(s.run("VarIsInitializedOp", nil, v), "bool[] 0")
	first := tensorOf([]float32{1, 2, 3, 4}, 2, 2)
	s.run("AssignVariableOp", nil, v, first)
	s.run("AssignAddVariableOp", nil, v, tensorOf([]float32{1, 1, 1, 1}, 2, 2))
	s.expect(s.run("ReadVariableOp", read, v), "float32[2 2] 2 3 4 5")
	s.expect(Value{T: first}, "float32[2 2] 1 2 3 4") // values are never changed in place
	s.expect(s.run("ResourceGather", nil, v, []int64{1, 1, 0}), "float32[3 2] 4 5 4 5 2 3")
	s.expect(s.run("VariableShape", nil, v), "int32[2] 2 2")
	s.refuse("is not in [0, 2)", "ResourceGather", nil, v, []int64{2})
	s.refuse("cannot assign", "AssignVariableOp", nil, v, []int64{1})
	s.refuse("expected a variable of type int64", "ReadVariableOp", graph.Attrs{"dtype": tensor.Int64}, v)

	old := s.run("VariableV2", graph.Attrs{"shared_name": []byte("old")})
	s.refuse("not initialized", "Neg", nil, old)
	s.run("Assign", nil, old, []float32{5})
	s.expect(s.run("Neg", nil, old), "float32[1] -5")
}

// TestConcurrentUpdates: no addition of many goroutines is lost.
func TestConcurrentUpdates(t *testing.T) {
	s := newSession(t)
	v := s.run("VarHandleOp", nil)
	s.run("AssignVariableOp", nil, v, int64(0))
	m := s.run("MutableHashTableV2", graph.Attrs{"key_dtype": tensor.Int64, "value_dtype": tensor.Int64})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if _, err := s.try("AssignAddVariableOp", nil, v, int64(1)); err != nil {
					t.Error(err)
				}
				if _, err := s.try("LookupTableInsertV2", nil, m, []int64{int64(i*20 + j)}, []int64{1}); err != nil {
					t.Error(err)
				}
				if _, err := s.try("LookupTableFindV2", nil, m, []int64{int64(j)}, int64(0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.expect(s.run("ReadVariableOp", nil, v), "int64[] 160")
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 160")
}

func TestRestore(t *testing.T) {
	fsys := atomicfile.NewMem()
	if err := fsys.Mkdir("d"); err != nil {
		t.Fatal(err)
	}
	w, err := bundle.NewWriter(fsys, "d/v", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]*tensor.Tensor{"a": tensorOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3), "s": texts("x", "y"), "odd": {DType: tensor.Bool, Shape: []int{3}, Bytes: []byte{0, 1, 2}}} {
		if err := w.Add(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	attrs := graph.Attrs{"dtypes": []tensor.DType{tensor.String, tensor.Float32, tensor.Float32}}
	s.refuse("may read no checkpoints", "RestoreV2", attrs, "d/v", []string{"s", "a", "a"}, []string{"", "", ""})
	s.env.Bundle = func(prefix string) (*bundle.Reader, error) { return bundle.Open(fsys, prefix) }
	out, err := s.try("RestoreV2", attrs, "d/v", []string{"s", "a", "a"}, []string{"", "", "2 3 -:1,2"})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], `string[2] "x" "y"`)
	s.expect(out[1], "float32[2 3] 1 2 3 4 5 6")
	s.expect(out[2], "float32[2 2] 2 3 5 6")
	restored := int64(0)
	s.env.Restoring = func(n int64) error {
		if restored += n; restored > 100 {
			return errors.New("too often")
		}
		return nil
	}
	floats := graph.Attrs{"dtypes": []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float32}}
	if _, err := s.try("RestoreV2", floats, "d/v", []string{"a", "a", "a"}, []string{"2 3 -:0,1", "2 3 -:1,1", "2 3 -:2,1"}); err != nil || restored != 2*24 {
		t.Errorf("three slices of a tensor of 24 bytes count as %d bytes, %v, expected 48", restored, err)
	}
	s.refuse("tensor_name = a: too often", "RestoreV2", floats, "d/v", []string{"a", "a", "a"}, []string{"", "", ""})
	s.env.Restoring = nil
	odd, err := s.try("RestoreV2", graph.Attrs{"dtypes": []tensor.DType{tensor.Bool}}, "d/v", []string{"odd"}, []string{""})
	if err != nil || !bytes.Equal(odd[0].T.Bytes, []byte{0, 1, 1}) {
		t.Errorf("booleans: got %v, %v", odd, err)
	}
	s.refuse("Key nope not found in checkpoint", "RestoreV2", attrs, "d/v", []string{"s", "nope", "a"}, []string{"", "", ""})
	s.refuse("expected dtype string does not equal original dtype", "RestoreV2", attrs, "d/v", []string{"a", "a", "a"}, []string{"", "", ""})
	s.refuse("slice", "RestoreV2", attrs, "d/v", []string{"s", "a", "a"}, []string{"", "", "2 3 -:1,3"})
}

func TestAssert(t *testing.T) {
	s := newSession(t)
	s.run("Assert", graph.Attrs{"summarize": int64(2)}, tensor.Scalar(true))
	s.refuse("assertion failed: [x must be positive] [1 2...]", "Assert", graph.Attrs{"summarize": int64(2)}, tensor.Scalar(false), "x must be positive", []int64{1, 2, 3})
}

// TestRefused: an op that cannot run returns an error with the node and the reason.
func TestRefused(t *testing.T) {
	s := newSession(t)
	s.refuse("op not supported", "Quux", nil)
	s.refuse("op not supported: it calls a function of the client's Python process", "PyFunc", nil)
	s.refuse("must be fed", "Placeholder", nil)
	s.refuse("expected 2 inputs, got 1", "AddV2", nil, int64(1))
	s.refuse("expected a resource", "ReadVariableOp", nil, int64(1))
	s.refuse("expected type float32, got int64", "AddV2", nil, []float32{1}, int64(1))
	s.refuse("type int64 not supported", "Sqrt", nil, int64(1))
	s.env.Limit = 1 << 10
	for _, c := range []struct {
		op string
		in []any
	}{
		{"Fill", []any{[]int64{1 << 20}, int64(1)}},
		{"Fill", []any{[]int64{1 << 40, 1 << 40}, int64(1)}},
		{"Fill", []any{[]int64{1 << 40, 0}, int64(1)}},
		{"Tile", []any{[]int64{1, 2}, []int64{1 << 62}}},
		{"BroadcastTo", []any{[]int64{1}, []int64{1 << 50}}},
		{"Range", []any{int64(0), int64(1 << 62), int64(1)}},
		{"OneHot", []any{[]int64{1}, int64(1 << 30), int64(1), int64(0)}},
		{"UnsortedSegmentSum", []any{[]int64{1}, []int64{0}, int64(1 << 40)}},
		{"StringJoin", []any{fmt.Sprintf("%2000s", "")}},
		{"RaggedRange", []any{int64(0), int64(1 << 62), int64(1)}},
	} {
		if _, err := s.try(c.op, nil, c.in...); err == nil {
			t.Errorf("%s: expected an error", c.op)
		}
	}
}

// TestPrepared: a kernel drops the outputs that are not requested, and does
// not allocate anything else.
func TestPrepared(t *testing.T) {
	k, err := Prepare(&graph.Node{Name: "n", Op: "Unique"})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Value, 1)
	if err := k(context.Background(), nil, []Value{{T: tensorOf([]int64{4, 4}, 2)}}, out); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[int64](out[0].T); !slices.Equal(got, []int64{4}) {
		t.Errorf("got %v", got)
	}
	id, err := Prepare(&graph.Node{Name: "n", Op: "Identity"})
	if err != nil {
		t.Fatal(err)
	}
	in := []Value{{T: tensorOf([]int64{4, 4}, 2)}}
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() { _ = id(ctx, nil, in, out) }); n > 0 {
		t.Errorf("Identity allocates %v times", n)
	}
}
