package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// model is one build of a small model: rows by 6 features, reshaped, multiplied, sliced.
func model(batch int, change func(b *Builder, x Output)) *Graph {
	b := NewBuilder(New())
	x := b.Placeholder("x", Type{tensor.Float32, ShapeOf(batch, 6)})
	target, _ := tensor.FromSlice([]int32{int32(batch * 2), 3}, 2)
	b.Op("Reshape", "Reshape", Type{tensor.Float32, ShapeOf(batch*2, 3)}, Attrs{"T": tensor.Float32}, x, b.Const("Reshape/shape", target))
	if change != nil {
		change(b, x)
	}
	return b.Graph
}

func TestUnify(t *testing.T) {
	u, err := Unify(model(1009, nil), 1009, model(1013, nil), 1013)
	if err != nil {
		t.Fatal(err)
	}
	if got := u.Node("x").Outputs[0].Shape.String(); got != "[B,6]" {
		t.Errorf("x: shape %s, want [B,6]", got)
	}
	if got := u.Node("x").Attrs["shape"].(Shape).String(); got != "[B,6]" {
		t.Errorf("x: attribute shape %s, want [B,6]", got)
	}
	if got := u.Node("Reshape").Outputs[0].Shape.String(); got != "[2B,3]" {
		t.Errorf("reshape: shape %s, want [2B,3]", got)
	}
	if got := tensor.Values[int32](u.Node("Reshape/shape").Attrs["value"].(*tensor.Tensor)); got[0] != -1 || got[1] != 3 {
		t.Errorf("target %v, want [-1 3]", got)
	}
	if u.Node("Reshape").Inputs[0].Node != u.Node("x") {
		t.Error("the operand of Reshape is not the unified x")
	}
}

func TestUnifyRefuses(t *testing.T) {
	op := func(f func(n int) (Shape, Attrs)) func(int) *Graph {
		return func(n int) *Graph {
			return model(n, func(b *Builder, x Output) {
				s, a := f(n)
				b.Op("Thing", "scope/thing", Type{tensor.Float32, s}, a, x)
			})
		}
	}
	constant := func(v func(n int) []int32, use string) func(int) *Graph {
		return func(n int) *Graph {
			return model(n, func(b *Builder, x Output) {
				data := v(n)
				c, _ := tensor.FromSlice(data, len(data))
				b.Op(use, "user", Type{tensor.Float32, ShapeOf(1)}, nil, x, b.Const("scope/thing", c))
			})
		}
	}
	for name, c := range map[string]struct {
		build func(int) *Graph
		want  string
	}{
		"quadratic": {op(func(n int) (Shape, Attrs) { return ShapeOf(n * n), nil }), "dimension 0 of output 0"},
		"half":      {op(func(n int) (Shape, Attrs) { return ShapeOf(n / 2), nil }), "a multiple of the batch"},
		"shrinking": {op(func(n int) (Shape, Attrs) { return ShapeOf(3000 - n), nil }), "a multiple of the batch"},
		"minus one": {op(func(n int) (Shape, Attrs) { return ShapeOf(n - 1), nil }), "B-1"},
		"rank":      {op(func(n int) (Shape, Attrs) { return ShapeOf(make([]int, 1+n%2)...), nil }), ""},
		"attribute": {op(func(n int) (Shape, Attrs) { return ShapeOf(1), Attrs{"size": int64(n)} }), "attribute size"},
		"absent":    {op(func(n int) (Shape, Attrs) { return ShapeOf(1), map[bool]Attrs{true: {"a": true}}[n == 1013] }), "attribute a is absent"},
		"constant":  {constant(func(n int) []int32 { return []int32{int32(n)} }, "Tile"), "operand 1 of user (Tile)"},
		"two":       {constant(func(n int) []int32 { return []int32{int32(n), int32(2 * n)} }, "Reshape"), "at most one dimension"},
		"and -1":    {constant(func(n int) []int32 { return []int32{-1, int32(n)} }, "Reshape"), "at most one dimension"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unify(c.build(1009), 1009, c.build(1013), 1013)
			if name == "rank" {
				if err != nil {
					t.Fatal("both ranks are equal here:", err)
				}
				return
			}
			var be *BatchError
			if !errors.As(err, &be) {
				t.Fatalf("got %v, want a *BatchError", err)
			}
			if be.Node != "scope/thing" || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %q: expected it to name scope/thing and say %q", err, c.want)
			}
		})
	}
}

func TestUnifyNeedsOneModel(t *testing.T) {
	extra := func(b *Builder, x Output) { b.Op("Relu", "relu", x.Type(), nil, x) }
	for name, b := range map[string]*Graph{
		"more nodes": model(1013, extra),
		"other op":   model(1013, func(b *Builder, x Output) { b.Op("Tanh", "relu", x.Type(), nil, x) }),
		"operand": model(1013, func(b *Builder, x Output) {
			y := b.Graph.Node("Reshape").Out(0)
			b.Op("Relu", "relu", y.Type(), nil, y)
		}),
	} {
		a := model(1009, extra)
		if name == "more nodes" {
			a = model(1009, nil)
		}
		var be *BatchError
		if _, err := Unify(a, 1009, b, 1013); !errors.As(err, &be) || be.Node != "relu" {
			t.Errorf("%s: got %v, want a *BatchError about relu", name, err)
		}
	}
	if _, err := Unify(model(2, nil), 2, model(2, nil), 2); err == nil {
		t.Error("equal batch sizes: expected an error")
	}
}
