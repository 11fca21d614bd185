package eager

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// goldenTensor is a tensor as interop/eager_golden.py writes it.
type goldenTensor struct {
	DType   tensor.DType
	Shape   []int
	Bytes   []byte
	Strings [][]byte
}

type goldenAttr struct {
	I     *json.Number
	F     *float32
	B     *bool
	S     *[]byte
	Type  *tensor.DType
	Shape json.RawMessage
	List  *struct {
		I     []int64
		F     []float32
		B     []bool
		S     [][]byte
		Type  []tensor.DType
		Shape [][]int
	}
}

type goldenCase struct {
	Name, Op  string
	Attrs     map[string]goldenAttr
	Inputs    []goldenTensor
	Outputs   []goldenTensor
	Error     string
	Crash     bool // TensorFlow crashes
	Tolerance float64
}

func readGolden(t testing.TB) []goldenCase {
	return readCases[goldenCase](t, "testdata/golden.json.gz")
}

func readCases[T any](t testing.TB, file string) []T {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (g goldenTensor) tensor() *tensor.Tensor {
	t := tensor.New(g.DType, g.Shape...)
	copy(t.Bytes, g.Bytes) // aligned
	copy(t.Strings, g.Strings)
	return t
}

func dims(v []int) graph.Shape {
	s := graph.ShapeOf(v...)
	for i, d := range v {
		if d < 0 {
			s.Dims[i] = graph.Unknown
		}
	}
	return s
}

// value returns the attribute in the form of internal/compiler/graph.
func (a goldenAttr) value(t testing.TB) any {
	switch {
	case a.I != nil:
		v, err := a.I.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return v
	case a.F != nil:
		return *a.F
	case a.B != nil:
		return *a.B
	case a.S != nil:
		return *a.S
	case a.Type != nil:
		return *a.Type
	case a.List != nil:
		l := a.List
		switch {
		case l.I != nil:
			return l.I
		case l.F != nil:
			return l.F
		case l.B != nil:
			return l.B
		case l.S != nil:
			return l.S
		case l.Type != nil:
			return l.Type
		case l.Shape != nil:
			var out []graph.Shape
			for _, s := range l.Shape {
				out = append(out, dims(s))
			}
			return out
		}
		return graph.EmptyList{}
	}
	var v []int
	if err := json.Unmarshal(a.Shape, &v); err != nil {
		t.Fatal(err)
	}
	if string(a.Shape) == "null" {
		return graph.Shape{UnknownRank: true}
	}
	return dims(v)
}

func (c goldenCase) node(t testing.TB) (*graph.Node, []Value) {
	n := &graph.Node{Name: "n", Op: c.Op, Attrs: graph.Attrs{}}
	for k, a := range c.Attrs {
		n.Attrs[k] = a.value(t)
	}
	var in []Value
	for _, x := range c.Inputs {
		in = append(in, Value{T: x.tensor()})
	}
	return n, in
}

// TestGolden: results match TensorFlow 2.15 bit for bit, except floats with a
// stated tolerance; where it fails, so do we.
func TestGolden(t *testing.T) {
	for i, c := range readGolden(t) {
		t.Run(fmt.Sprintf("%d %s", i, c.Name), func(t *testing.T) {
			n, in := c.node(t)
			out, err := Run(context.Background(), n, in, nil)
			if c.Error != "" {
				if err == nil {
					t.Fatalf("got %v, expected the error %q", describe(out[0].T), c.Error)
				}
				if strings.HasPrefix(c.Op, "Parse") && c.Error != "?" && !strings.HasSuffix(err.Error(), c.Error) {
					t.Errorf("got %q, expected %q in the end", err, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Name == "first only" {
				out, c.Outputs = out[:1], c.Outputs[:1]
			}
			if len(out) != len(c.Outputs) {
				t.Fatalf("got %d outputs, expected %d", len(out), len(c.Outputs))
			}
			for k := range out {
				if err := near(out[k].T, c.Outputs[k].tensor(), c.Tolerance); err != nil {
					t.Errorf("output %d of %v on %v: %v", k, n.Attrs, describe(in[0].T), err)
				}
			}
		})
	}
}

func describe(t *tensor.Tensor) string {
	if t == nil {
		return "nothing"
	}
	s := fmt.Sprintf("%v%v", t.DType, t.Shape)
	for i := range min(t.Len(), 24) {
		if t.DType == tensor.String {
			s += fmt.Sprintf(" %q", t.Strings[i])
		} else {
			s += fmt.Sprint(" ", t.Float(i))
		}
	}
	return s
}

// near compares tensors: floats within tol of their size, NaN equal to NaN.
func near(got, want *tensor.Tensor, tol float64) error {
	if got == nil {
		return fmt.Errorf("got nothing, expected %s", describe(want))
	}
	bad := got.DType != want.DType || !slices.Equal(got.Shape, want.Shape)
	for i := 0; !bad && i < want.Len(); i++ {
		switch want.DType {
		case tensor.String:
			bad = string(got.Strings[i]) != string(want.Strings[i])
		case tensor.Float32, tensor.Float64:
			g, w := got.Float(i), want.Float(i)
			bad = !testkit.Near(g, w, tol*max(1, math.Abs(w)))
		}
	}
	if isComplex(want.DType) {
		parts := map[tensor.DType]tensor.DType{tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64}[want.DType]
		flat := func(t *tensor.Tensor) *tensor.Tensor {
			return &tensor.Tensor{DType: parts, Shape: []int{2 * t.Len()}, Bytes: t.Bytes}
		}
		if bad {
			return fmt.Errorf("got %v%v, expected %v%v", got.DType, got.Shape, want.DType, want.Shape)
		}
		return near(flat(got), flat(want), tol)
	}
	if !want.DType.Float() || want.DType == tensor.Float16 {
		bad = bad || string(got.Bytes) != string(want.Bytes)
	}
	if bad {
		return fmt.Errorf("got\n%s, expected\n%s", describe(got), describe(want))
	}
	return nil
}
