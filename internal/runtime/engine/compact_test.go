package engine

import (
	"bytes"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// matrixSize is the number of rows of a matrix that Compact gives back: some whole strips of a packed operand, and a partial one.
const matrixSize = 131

// compactKinds are ways to use the variable w: read it packed, in three forms, read it directly, and update it.
var compactKinds = []string{"product", "transposed", "normalized", "direct", "double"}

// compactProgram compiles one of the ways. Its result for a row with a single 1 in column 5 is row or column 5 of w; the
// result of "direct" is w. "normalized" is a convolution whose normalization doubles the row.
func compactProgram(vars *Variables, kind string) *Program {
	b := graph.NewBuilder(graph.New())
	matrix, rows := fixedType(tensor.Float32, matrixSize, matrixSize), batchType(tensor.Float32, matrixSize)
	x := b.Placeholder("x", rows)
	w := b.Variable("w", matrix)
	read := b.Read(w, matrix)
	spec := Spec{Feeds: []graph.Output{x}}
	switch kind {
	case "normalized":
		pixels := batchType(tensor.Float32, 1, 1, matrixSize)
		x = b.Placeholder("pixels", pixels)
		filter := b.Op("Reshape", "filter", fixedType(tensor.Float32, 1, 1, matrixSize, matrixSize), nil, read, b.Const("shape", ok(tensor.FromSlice([]int32{1, 1, matrixSize, matrixSize}, 4))))
		y := b.Op("Conv2D", "conv", pixels, graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("VALID")}, x, filter)
		column := func(name string, v float32) graph.Output {
			t := tensor.New(tensor.Float32, matrixSize)
			for i := range tensor.Values[float32](t) {
				tensor.Values[float32](t)[i] = v
			}
			return b.Const(name, t)
		}
		one := fixedType(tensor.Float32, matrixSize)
		n := b.Node("FusedBatchNormV3", "y", []graph.Type{pixels, one, one, one, one, fixedType(tensor.Float32)}, graph.Attrs{"epsilon": float32(0), "is_training": false},
			y, column("gamma", 4), column("beta", 0), column("mean", 0), column("variance", 4))
		spec = Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{n.Out(0)}}
	case "double":
		spec.Targets = []*graph.Node{b.Node("AssignAddVariableOp", "add", nil, nil, w, read)}
	case "direct":
		spec.Fetches = []graph.Output{b.Op("Abs", "y", matrix, nil, read)}
	default:
		spec.Fetches = []graph.Output{b.Op("MatMul", "y", rows, graph.Attrs{"transpose_b": kind == "transposed"}, x, read)}
	}
	return ok(Compile(b.Graph, spec, vars.dev, vars, Options{}))
}

// compactModel is what w should be.
type compactModel struct {
	t    *rapid.T
	vars *Variables
	w    *tensor.Tensor
}

// check runs a program and compares what it read.
func (m *compactModel) check(kind string, p *Program) {
	row := tensor.New(tensor.Float32, 1, matrixSize)
	if kind == "normalized" {
		row = tensor.New(tensor.Float32, 1, 1, 1, matrixSize)
	}
	tensor.Values[float32](row)[5] = 1
	if err := p.Run(bg, 1, []*tensor.Tensor{row}); err != nil {
		m.t.Fatal(err)
	}
	w := tensor.Values[float32](m.w)
	var want []float32
	switch kind {
	case "double":
		for i := range w {
			w[i] *= 2
		}
		return
	case "direct":
		want = w
	case "product":
		want = w[5*matrixSize : 6*matrixSize]
	case "normalized":
		for _, v := range w[5*matrixSize : 6*matrixSize] {
			want = append(want, 2*v)
		}
	case "transposed":
		for i := range matrixSize {
			want = append(want, w[i*matrixSize+5])
		}
	}
	if got := tensor.Values[float32](p.Value(0)); !slices.Equal(got, want) {
		m.t.Fatalf("%s: got %v..., expected %v...", kind, got[:5], want[:5])
	}
}

// set gives w other values, positive and all different.
func (m *compactModel) set(first int) {
	m.w = tensor.New(tensor.Float32, matrixSize, matrixSize)
	for i := range tensor.Values[float32](m.w) {
		tensor.Values[float32](m.w)[i] = float32(first + i)
	}
}

// TestCompactChangesNothing mixes programs, reads and writes of a variable with Compact: all see its value.
func TestCompactChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &compactModel{t: t, vars: ok(NewVariables(device.NewHost()))}
		m.set(1)
		if err := m.vars.Create("w", m.w); err != nil {
			t.Fatal(err)
		}
		open := map[*Program]string{}
		var order []*Program
		pick := func() *Program { return rapid.SampledFrom(order).Draw(t, "program") }
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch what := rapid.SampledFrom([]string{"open", "open", "run", "run", "compact", "compact", "close", "set", "fill", "get", "snapshot", "view"}).Draw(t, "step"); {
			case what == "open":
				kind := rapid.SampledFrom(compactKinds).Draw(t, "kind")
				p := compactProgram(m.vars, kind)
				open[p], order = kind, append(order, p)
			case what == "compact":
				m.vars.Compact()
			case what == "set":
				m.set(rapid.IntRange(2, 9).Draw(t, "first"))
				if err := m.vars.Set("w", m.w); err != nil {
					t.Fatal(err)
				}
			case what == "fill":
				m.set(rapid.IntRange(2, 9).Draw(t, "first"))
				if err := m.vars.SetBy("w", func(to *tensor.Tensor) error { copy(to.Bytes, m.w.Bytes); return nil }); err != nil {
					t.Fatal(err)
				}
			case what == "get":
				if got := ok(m.vars.Get("w")); !bytes.Equal(got.Bytes, m.w.Bytes) {
					t.Fatal("another value")
				}
			case what == "snapshot":
				if got := ok(m.vars.Snapshot())["w"]; !bytes.Equal(got.Bytes, m.w.Bytes) {
					t.Fatal("another value in the snapshot")
				}
			case what == "view":
				if err := m.vars.View("w", func(got *tensor.Tensor) error {
					if !bytes.Equal(got.Bytes, m.w.Bytes) {
						t.Fatal("another value in view")
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			case len(order) == 0:
			case what == "run":
				p := pick()
				m.check(open[p], p)
			case what == "close":
				p := pick()
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				delete(open, p)
				order = slices.DeleteFunc(order, func(q *Program) bool { return q == p })
			}
		}
		for _, p := range order {
			m.check(open[p], p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got := ok(m.vars.Get("w")); !bytes.Equal(got.Bytes, m.w.Bytes) {
			t.Fatal("another value in the end")
		}
		if err := m.vars.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCompactGivesBack checks that the memory is counted once if programs only read packed weights, and twice if another
// program reads the variable directly.
func TestCompactGivesBack(t *testing.T) {
	dev := device.NewHost()
	probe := ok(dev.Alloc(compactFrom))
	if !probe.(device.Discarder).Discard() {
		t.Skip("skipped: this system does not take memory back in part")
	}
	m := &compactModel{vars: ok(NewVariables(dev))}
	m.set(1)
	if err := m.vars.Create("w", m.w); err != nil {
		t.Fatal(err)
	}
	raw := int64(len(m.w.Bytes))
	rapid.Check(t, func(t *rapid.T) {
		m.t = t
		kind := rapid.SampledFrom([]string{"product", "transposed", "normalized"}).Draw(t, "kind")
		p := compactProgram(m.vars, kind)
		m.check(kind, p)
		before := m.vars.Memory()
		m.vars.Compact()
		if got := m.vars.Memory(); got != before-raw {
			t.Fatalf("%d bytes, %d before: expected %d less", got, before, raw)
		}
		other := map[string]string{"product": "transposed", "transposed": "product", "normalized": "transposed"}[kind]
		o := compactProgram(m.vars, other)
		if m.check(other, o); o.Close() != nil {
			t.Fatal("close")
		}
		q := compactProgram(m.vars, "direct")
		if m.vars.Compact(); m.vars.Memory() != before {
			t.Fatalf("%d bytes beside a program that reads the variable, expected %d", m.vars.Memory(), before)
		}
		m.check("direct", q)
		for _, x := range []*Program{q, p} {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			m.vars.Compact()
		}
		if got := m.vars.Memory(); got != before-raw {
			t.Fatalf("%d bytes without programs, expected the packed form's %d", got, before-raw)
		}
		if err := m.vars.View("w", func(*tensor.Tensor) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := m.vars.Memory(); got != raw {
			t.Fatalf("%d bytes once the variable has its memory again, expected %d", got, raw)
		}
	})
}

// TestCompactedFilter runs a convolution whose form depends on the batch: a filter that was needed only in one form can
// still be made in the other form after Compact.
func TestCompactedFilter(t *testing.T) {
	const channels, side = 256, 8
	w := tensor.New(tensor.Float32, 3, 3, channels, channels)
	for i := range tensor.Values[float32](w) {
		tensor.Values[float32](w)[i] = float32(i%13) - 6
	}
	run := func(compact bool) []float32 {
		vars := ok(NewVariables(device.NewHost()))
		if err := vars.Create("w", w); err != nil {
			t.Fatal(err)
		}
		b := graph.NewBuilder(graph.New())
		images, filter := batchType(tensor.Float32, side, side, channels), fixedType(tensor.Float32, 3, 3, channels, channels)
		x := b.Placeholder("x", images)
		y := b.Op("Conv2D", "y", images, graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}, x, b.Read(b.Variable("w", filter), filter))
		p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, vars.dev, vars, Options{}))
		for _, rows := range []int{1, 8} {
			feed := tensor.New(tensor.Float32, rows, side, side, channels)
			for i := range tensor.Values[float32](feed) {
				tensor.Values[float32](feed)[i] = float32(i%7) - 3
			}
			if err := p.Run(bg, rows, []*tensor.Tensor{feed}); err != nil {
				t.Fatal(err)
			}
			if compact {
				vars.Compact()
			}
		}
		return slices.Clone(tensor.Values[float32](p.Value(0)))
	}
	if want, got := run(false), run(true); !slices.Equal(got, want) {
		t.Errorf("got %v..., expected %v...", got[:5], want[:5])
	}
}

// TestCompactWaitsForNobody checks that Compact skips variables that are being read.
func TestCompactWaitsForNobody(t *testing.T) {
	m := &compactModel{vars: ok(NewVariables(device.NewHost()))}
	m.set(1)
	if err := m.vars.Create("w", m.w); err != nil {
		t.Fatal(err)
	}
	if err := m.vars.View("w", func(*tensor.Tensor) error { m.vars.Compact(); return nil }); err != nil {
		t.Fatal(err)
	}
}
