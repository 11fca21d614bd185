package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

func TestShapes(t *testing.T) {
	for want, s := range map[string]Shape{
		"[]": {}, "[2,3]": ShapeOf(2, 3), "[B,28,28,1]": BatchOf(28, 28, 1), "<unknown rank>": {UnknownRank: true},
		"[2B+1,?]": {Dims: []Dim{{2, 1}, Unknown}}, "[B-1]": {Dims: []Dim{{1, -1}}},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s := Shape{Dims: []Dim{{2, 1}, Fixed(3)}}
	if got := s.At(5); !slices.Equal(got, []int{11, 3}) || s.ElementsAt(5) != 33 || s.Rank() != 2 || !s.Known() {
		t.Errorf("%v at 5: %v, %d elements", s, got, s.ElementsAt(5))
	}
	if !s.Equal(s) || s.Equal(ShapeOf(11, 3)) || s.Equal(Shape{UnknownRank: true}) || (Shape{UnknownRank: true}).Rank() != -1 {
		t.Error("equality is symbol for symbol")
	}
	if (Shape{Dims: []Dim{Unknown}}).Known() || (Shape{UnknownRank: true}).Known() || Batch.Static() || !Fixed(0).Static() {
		t.Error("Known and Static are wrong")
	}
}

func TestBuilderErrorsStick(t *testing.T) {
	b := NewBuilder(New())
	x := b.Placeholder("x", Type{tensor.Float32, BatchOf(2)})
	b.Op("Relu", "r", x.Type(), nil, Output{})
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "node r (Relu): input 0") {
		t.Fatalf("got %v, want an error that names the node and input", err)
	}
	b.Fail(errors.New("later"))
	b.Op("Relu", "s", x.Type(), nil, x)
	if strings.Contains(b.Err().Error(), "later") || b.Graph.Node("s") != nil {
		t.Error("after the first error nothing may change")
	}
	if o := b.Read(Output{}, x.Type()); o.Valid() {
		t.Error("Read after an error must give no value")
	}
	b = NewBuilder(New())
	if b.Scalar("c", tensor.String, 1); b.Err() == nil {
		t.Error("a string scalar: expected an error")
	}
}

func TestBuilderNodes(t *testing.T) {
	b := NewBuilder(New())
	v := b.Variable("w", Type{tensor.Float64, ShapeOf(3)})
	if b.Variable("w", Type{tensor.Float64, ShapeOf(3)}) != v {
		t.Error("the same variable must be one node")
	}
	b.Placeholder("taken", Type{tensor.Float64, ShapeOf(3)})
	if u := b.Variable("taken", Type{tensor.Float64, ShapeOf(3)}); u.Node.Str("shared_name") != "taken" || b.Variable("taken", Type{tensor.Float64, ShapeOf(3)}) != u {
		t.Error("a variable beside a node of its name must be one node")
	}
	r := b.Read(v, Type{tensor.Float64, ShapeOf(3)}, v.Node)
	if r.Node.Name != "w/Read/ReadVariableOp" || r.Node.Control[0] != v.Node {
		t.Errorf("read: %v after %v", r, r.Node.Control)
	}
	n := b.Node("X", "n", nil, Attrs{"i": int64(3), "b": true, "f": float32(.5), "s": []byte("t"), "l": []int64{1}})
	if n.Int("i", 0) != 3 || n.Int("no", 7) != 7 || !n.Bool("b") || n.Bool("no") || n.Float("f", 0) != .5 || n.Float("no", 2) != 2 || n.Str("s") != "t" || n.Ints("l")[0] != 1 {
		t.Error("attribute accessors are wrong")
	}
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64} {
		if c := b.Scalar("c", d, 2); c.DType() != d || c.Shape().Rank() != 0 {
			t.Errorf("scalar of %v: %v", d, c.Type())
		}
	}
	if err := b.Graph.Add(&Node{Name: "w", Op: "X"}); !errors.Is(err, ErrDuplicate) {
		t.Errorf("got %v, want ErrDuplicate", err)
	}
	if err := b.Graph.Add(&Node{Name: "w"}); err == nil {
		t.Error("a node without an op: expected an error")
	}
	if (Output{}).String() != "<none>" || r.String() != "w/Read/ReadVariableOp:0" {
		t.Error("outputs print wrong")
	}
}

// TestUnifyFindsTheLine: every admissible dimension is recovered from two sizes.
func TestUnifyFindsTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Dim{rapid.IntRange(0, 100).Draw(t, "per batch"), rapid.IntRange(0, 1000).Draw(t, "const")}
		at := func(batch int) *Graph {
			b := NewBuilder(New())
			b.Placeholder("x", Type{tensor.Float32, ShapeOf(want.At(batch))})
			return b.Graph
		}
		u, err := Unify(at(1009), 1009, at(1013), 1013)
		if err != nil || u.Node("x").Outputs[0].Shape.Dims[0] != want {
			t.Fatalf("%v: %v %v", want, u, err)
		}
	})
}
