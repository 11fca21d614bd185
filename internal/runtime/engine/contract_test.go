package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// nd is a tensor of the reference: everything is a float64, bool is 0 or 1.
type nd struct {
	shape []int
	data  []float64
}

func newND(shape []int) nd { return nd{shape, make([]float64, tensor.NumElements(shape))} }

// operand is an input of an op under test: a feed, a constant, or a variable.
type operand struct {
	typ      graph.Type
	gen      func(r *rand.Rand, i int) float64
	constant bool
	variable bool
	values   []float64 // of a constant
}

// opCase is one op in one form. Float32 stands for the float type under test.
type opCase struct {
	op    string
	attrs graph.Attrs
	in    []operand
	out   []graph.Type
	// ref computes the outputs, of the given sizes, or for an op that writes variables their new values.
	ref func(in []nd, out [][]int) []nd
	tol float64 // multiplies the tolerance; 0 is 1
	// only is the one float type under test; Invalid: both.
	only tensor.DType
}

// sh parses a shape such as "B,3,2B".
func sh(s string) graph.Shape {
	var out graph.Shape
	for p := range strings.SplitSeq(s, ",") {
		switch {
		case p == "":
		case strings.HasSuffix(p, "B"):
			k := 1
			if len(p) > 1 {
				k = ok(strconv.Atoi(p[:len(p)-1]))
			}
			out.Dims = append(out.Dims, graph.Dim{PerBatch: k})
		default:
			out.Dims = append(out.Dims, graph.Fixed(ok(strconv.Atoi(p))))
		}
	}
	return out
}

func ty(d tensor.DType, s string) graph.Type { return graph.Type{DType: d, Shape: sh(s)} }
func fl(s string) graph.Type                 { return ty(tensor.Float32, s) }

func normalGen(r *rand.Rand, _ int) float64   { return r.NormFloat64() }
func positiveGen(r *rand.Rand, _ int) float64 { return 0.1 + 2*r.Float64() }
func boolGen(r *rand.Rand, _ int) float64     { return float64(r.IntN(2)) }
func below(n int) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 { return float64(r.IntN(n)) }
}

// edgeValues are values at which functions or their gradients are not smooth. Half of what
// edgeGen draws are such.
var edgeValues = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 6, math.Inf(1), math.Inf(-1), math.NaN()}

func edgeGen(r *rand.Rand, i int) float64 {
	if r.IntN(2) == 0 {
		return edgeValues[r.IntN(len(edgeValues))]
	}
	return normalGen(r, i)
}

func edgeFeedOf(s string) operand { return operand{typ: fl(s), gen: edgeGen} }
func feedOf(s string) operand     { return operand{typ: fl(s), gen: normalGen} }
func positive(s string) operand   { return operand{typ: fl(s), gen: positiveGen} }
func intsOf(d tensor.DType, s string, n int) operand {
	return operand{typ: ty(d, s), gen: below(n)}
}
func boolOf(s string) operand { return operand{typ: ty(tensor.Bool, s), gen: boolGen} }
func ints(v ...float64) operand {
	return operand{typ: ty(tensor.Int32, fmt.Sprint(len(v))), constant: true, values: v}
}
func scalar(d tensor.DType, v float64) operand {
	return operand{typ: ty(d, ""), constant: true, values: []float64{v}}
}
func slotOf(s string, gen func(*rand.Rand, int) float64) operand {
	return operand{typ: fl(s), gen: gen, variable: true}
}

// toND and fromND convert between tensors and the reference.
func toND(t *tensor.Tensor) nd {
	out := newND(slices.Clone(t.Shape))
	for i := range out.data {
		out.data[i] = element(t, i)
	}
	return out
}

func element(t *tensor.Tensor, i int) float64 {
	switch t.DType {
	case tensor.Float32:
		return float64(tensor.Values[float32](t)[i])
	case tensor.Float64:
		return tensor.Values[float64](t)[i]
	case tensor.Int32:
		return float64(tensor.Values[int32](t)[i])
	case tensor.Int64:
		return float64(tensor.Values[int64](t)[i])
	case tensor.Uint8:
		return float64(tensor.Values[uint8](t)[i])
	case tensor.Int8:
		return float64(tensor.Values[int8](t)[i])
	case tensor.Uint64:
		return float64(tensor.Values[uint64](t)[i])
	case tensor.Uint16:
		return float64(tensor.Values[uint16](t)[i])
	}
	if tensor.Values[bool](t)[i] {
		return 1
	}
	return 0
}

func fromND(d tensor.DType, x nd) *tensor.Tensor {
	t := tensor.New(d, x.shape...)
	for i, v := range x.data {
		switch d {
		case tensor.Float32:
			tensor.Values[float32](t)[i] = float32(v)
		case tensor.Float64:
			tensor.Values[float64](t)[i] = v
		case tensor.Int32:
			tensor.Values[int32](t)[i] = int32(v)
		case tensor.Int64:
			tensor.Values[int64](t)[i] = int64(v)
		case tensor.Uint8:
			tensor.Values[uint8](t)[i] = uint8(v)
		case tensor.Int8:
			tensor.Values[int8](t)[i] = int8(v)
		case tensor.Uint64:
			tensor.Values[uint64](t)[i] = uint64(v)
		case tensor.Bool:
			tensor.Values[bool](t)[i] = v != 0
		}
	}
	return t
}

// withFloat replaces Float32 by d in a type.
func withFloat(t graph.Type, d tensor.DType) graph.Type {
	if t.DType == tensor.Float32 {
		t.DType = d
	}
	return t
}

// contract is a case compiled on a device for one float type.
type contract struct {
	c     *opCase
	d     tensor.DType
	p     *Program
	vars  *Variables
	names []string
}

func (k *contract) build(t *testing.T, dev device.Device, capacity int) {
	g := graph.New()
	b := graph.NewBuilder(g)
	k.vars = ok(NewVariables(dev))
	var in, feeds []graph.Output
	for i, o := range k.c.in {
		typ, name := withFloat(o.typ, k.d), fmt.Sprintf("in%d", i)
		switch {
		case o.constant:
			in = append(in, b.Const(name, fromND(typ.DType, nd{typ.Shape.At(0), o.values})))
		case o.variable:
			in = append(in, b.Variable(name, typ))
			k.names = append(k.names, name)
			if err := k.vars.Create(name, tensor.New(typ.DType, typ.Shape.At(0)...)); err != nil {
				t.Fatal(err)
			}
		default:
			in = append(in, b.Placeholder(name, typ))
			feeds = append(feeds, in[i])
		}
	}
	var out []graph.Type
	for _, o := range k.c.out {
		out = append(out, withFloat(o, k.d))
	}
	n := b.Node(k.c.op, "op", out, k.c.attrs, in...)
	spec := Spec{Feeds: feeds, Targets: []*graph.Node{n}}
	for i := range out {
		spec.Fetches = append(spec.Fetches, n.Out(i))
	}
	var err error
	if k.p, err = Compile(g, spec, dev, k.vars, Options{Capacity: capacity}); err != nil {
		t.Fatalf("%v", err)
	}
}

// run compares one batch with the reference.
func (k *contract) run(t *testing.T, r *rand.Rand, batch int) {
	var feeds []*tensor.Tensor
	var in []nd
	for i, o := range k.c.in {
		typ := withFloat(o.typ, k.d)
		x := nd{typ.Shape.At(batch), o.values}
		if !o.constant {
			x = newND(x.shape)
			for j := range x.data {
				x.data[j] = o.gen(r, j)
			}
		}
		tens := fromND(typ.DType, x)
		in = append(in, toND(tens)) // rounded as the op sees it
		switch {
		case o.variable:
			if err := k.vars.Set(fmt.Sprintf("in%d", i), tens); err != nil {
				t.Fatal(err)
			}
		case !o.constant:
			feeds = append(feeds, tens)
		}
	}
	if err := k.p.Run(context.Background(), batch, feeds); err != nil {
		t.Fatalf("batch %d: %v", batch, err)
	}
	var sizes [][]int
	for _, o := range k.c.out {
		sizes = append(sizes, o.Shape.At(batch))
	}
	want := k.c.ref(in, sizes)
	for i, w := range want {
		var got nd
		if len(k.names) > 0 {
			got = toND(ok(k.vars.Get(k.names[i])))
		} else {
			got = toND(k.p.Value(i))
		}
		k.compare(t, fmt.Sprintf("batch %d, result %d", batch, i), got, w)
	}
}

func (k *contract) compare(t *testing.T, what string, got, want nd) {
	t.Helper()
	tol := map[tensor.DType]float64{tensor.Float32: 2e-5, tensor.Float64: 1e-11}[k.d]
	if k.c.tol > 0 {
		tol *= k.c.tol
	}
	if len(got.data) != len(want.data) {
		t.Fatalf("%s: expected %d elements, got %d (%v, %v)", what, len(want.data), len(got.data), want.shape, got.shape)
	}
	for i, w := range want.data {
		g := got.data[i]
		if !testkit.Near(g, w, tol*(1+math.Abs(w))) {
			t.Fatalf("%s, element %d of %v: expected %v, got %v", what, i, got.shape, w, g)
		}
	}
}

// TestContract runs every op on every device, at every SIMD level, for both float types and several batch sizes up to and
// beyond the capacity, against the naive reference. Short runs use only the best level.
func TestContract(t *testing.T) {
	first := kernels.Portable
	if testing.Short() {
		first = kernels.BestLevel()
	}
	covered := map[string]bool{}
	for _, c := range allCases() {
		covered[c.op] = true
		for _, d := range c.types() {
			t.Run(fmt.Sprintf("%s/%v/%v", c.op, c.label(), d), func(t *testing.T) {
				onDevices(t, func(t *testing.T, dev device.Device) {
					k := &contract{c: c, d: d}
					k.build(t, dev, 4)
					defer kernels.SetLevel(kernels.BestLevel())
					for level := first; level <= kernels.BestLevel(); level++ {
						kernels.SetLevel(level)
						r := rand.New(rand.NewPCG(1, 2))
						for _, batch := range []int{4, 3, 1, 6} {
							k.run(t, r, batch)
						}
					}
				})
			})
		}
	}
	for op := range registry() {
		if !covered[op] && !slices.Contains(coveredElsewhere, op) {
			t.Errorf("op %s has no case", op)
		}
	}
}

// coveredElsewhere are ops that other tests see: no single reference result makes sense for them.
var coveredElsewhere = []string{"Const", "Placeholder", "NoOp", "VarHandleOp", "ReadVariableOp",
	"StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"}

// types are the float types under test.
func (c *opCase) types() []tensor.DType {
	switch {
	case c.only != tensor.Invalid:
		return []tensor.DType{c.only}
	case c.hasFloat():
		return []tensor.DType{tensor.Float32, tensor.Float64}
	}
	return []tensor.DType{tensor.Float32}
}

func (c *opCase) hasFloat() bool {
	for _, o := range c.in {
		if o.typ.DType == tensor.Float32 {
			return true
		}
	}
	return slices.ContainsFunc(c.out, func(t graph.Type) bool { return t.DType == tensor.Float32 })
}

// label tells the cases of one op apart.
func (c *opCase) label() string {
	var parts []string
	for _, o := range c.in {
		parts = append(parts, fmt.Sprintf("%v%v", o.typ.DType, o.typ.Shape))
		if o.constant {
			parts = append(parts, fmt.Sprint(o.values))
		}
	}
	return strings.ReplaceAll(strings.Join(parts, ";"), " ", "_")
}

func allCases() []*opCase {
	var all []*opCase
	for _, f := range []func() []*opCase{unaryCases, binaryCases, reduceCases, matmulCases, fusedCases, softmaxCases, structureCases,
		castCases, layoutCases, indexCases, selectCases, convCases, poolCases, volumeCases, normCases, stateCases, updateCases, sparseCases, raggedCases, attentionCases, integerCases} {
		all = append(all, f()...)
	}
	return all
}
