package lower

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// rig is a target with some modules, emulated.
type rig struct {
	t *testing.T
	Target
	s driver.Stream
}

func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	modules := slices.DeleteFunc(kernels.Modules(), func(m kernels.Module) bool { return !slices.Contains(names, m.Name) })
	d := fake.New(fake.Default)
	err := emulate.Build(t.Context(), d, t.TempDir(), modules...)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t}
	var errs [3]error
	r.Context, errs[0] = d.Open(0)
	r.Kernels, errs[1] = kernels.Load(t.Context(), kernels.Target{Context: r.Context, Compiler: emulate.Declared(modules), Arch: 90}, modules...)
	r.s, errs[2] = r.Context.NewStream()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.s.Close(), r.Kernels.Close(), r.Context.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// place is a buffer at an address.
type place driver.Ptr

func (p place) Address() driver.Ptr { return driver.Ptr(p) }
func (p place) Len() int            { return 0 }
func (p place) Free() error         { return nil }

// operand makes memory for a value of a type. v is the initial contents, nil for NaN.
func (r *rig) operand(typ graph.Type, batch int, v *tensor.Tensor) *engine.Operand {
	r.t.Helper()
	o := &engine.Operand{Type: typ, Dims: typ.Shape.At(batch)}
	o.N = tensor.NumElements(o.Dims)
	o.Buffer, o.Offset = place(r.alloc(256+o.N*typ.DType.Size())), 256
	if v != nil && o.N > 0 {
		r.copy(o, v, true)
	}
	return o
}

func (r *rig) alloc(bytes int) driver.Ptr {
	r.t.Helper()
	p, err := r.Context.Alloc(bytes)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := r.Context.Free(p); err != nil {
			r.t.Error(err)
		}
	})
	return p
}

// copy moves a tensor to an operand's memory, or back.
func (r *rig) copy(o *engine.Operand, v *tensor.Tensor, up bool) {
	r.t.Helper()
	host, err := r.Context.AllocHost(v.Len() * v.DType.Size())
	if err != nil {
		r.t.Fatal(err)
	}
	defer host.Free()
	bytes := unsafe.Slice((*byte)(elements(v)), len(host.Bytes()))
	if up {
		copy(host.Bytes(), bytes)
		err = errors.Join(r.s.Upload(Address(o), host.Bytes()), r.s.Synchronize())
	} else {
		err = errors.Join(r.s.Download(host.Bytes(), Address(o)), r.s.Synchronize())
		copy(bytes, host.Bytes())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func elements(v *tensor.Tensor) unsafe.Pointer {
	if v.DType == tensor.Float64 {
		return unsafe.Pointer(unsafe.SliceData(tensor.Values[float64](v)))
	}
	return unsafe.Pointer(unsafe.SliceData(tensor.Values[float32](v)))
}

// do lowers an op and runs it for a batch.
func (r *rig) do(n *graph.Node, in []*tensor.Tensor, types []graph.Type, batch int) *tensor.Tensor {
	r.t.Helper()
	o := &engine.Operation{Node: n}
	for i, v := range in {
		o.In = append(o.In, r.operand(types[i], batch, v))
	}
	out := r.operand(n.Outputs[0], batch, nil)
	o.Out = []*engine.Operand{out}
	if err := Supports(o); err != nil {
		r.t.Fatal(err)
	}
	step, err := Lower(&r.Target, o)
	if err != nil {
		r.t.Fatal(err)
	}
	if w := step.Workspace(batch); w > 0 {
		o.Workspace = engine.Operand{Buffer: place(r.alloc(w)), N: w}
	}
	launches, err := step.Bind()
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := r.s.Capture(func() error { return Sequence(launches).Issue(r.s) })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(g.Launch(r.s), r.s.Synchronize(), g.Close()); err != nil {
		r.t.Fatal(err)
	}
	v := tensor.New(out.Type.DType, out.Dims...)
	if v.Len() > 0 {
		r.copy(out, v, false)
	}
	return v
}

// matmulCase is an op over normal numbers.
type matmulCase struct {
	op      string
	attrs   graph.Attrs
	in      []string // shapes
	out     string
	batches []int
}

func matmulCases() []matmulCase {
	fused := func(names ...string) [][]byte {
		var b [][]byte
		for _, n := range names {
			b = append(b, []byte(n))
		}
		return b
	}
	two := []int{1, 7}
	return []matmulCase{
		{"MatMul", nil, []string{"B,5", "5,9"}, "B,9", []int{1, 70}},
		{"MatMul", graph.Attrs{"transpose_a": true}, []string{"B,5", "B,9"}, "5,9", []int{1, 7, 600}},
		{"MatMul", graph.Attrs{"transpose_b": true}, []string{"B,8", "12,8"}, "B,12", two},
		{"MatMul", graph.Attrs{"transpose_a": true, "transpose_b": true}, []string{"3,B", "4,3"}, "B,4", two},
		{"_FusedMatMul", graph.Attrs{"fused_ops": fused("BiasAdd")}, []string{"B,5", "5,9", "9"}, "B,9", two},
		{"_FusedMatMul", graph.Attrs{"fused_ops": fused("BiasAdd", "Relu")}, []string{"B,1000", "1000,10", "10"}, "B,10", two},
		{"_FusedMatMul", graph.Attrs{"fused_ops": fused("Relu"), "transpose_b": true}, []string{"B,5", "9,5"}, "B,9", two},
		{"BatchMatMulV2", nil, []string{"B,2,3,4", "B,2,4,5"}, "B,2,3,5", []int{1, 3}},
		{"BatchMatMulV2", nil, []string{"B,3,4", "4,5"}, "B,3,5", two},
		{"BatchMatMulV2", graph.Attrs{"adj_x": true}, []string{"B,4,3", "4,5"}, "B,3,5", two},
		{"BatchMatMulV2", graph.Attrs{"adj_y": true}, []string{"3,4", "B,5,4"}, "B,3,5", two},
		{"BatchMatMulV2", graph.Attrs{"adj_x": true, "adj_y": true}, []string{"B,1,2,4,3", "3,1,5,4"}, "B,3,2,3,5", two},
		{"BatchMatMulV2", nil, []string{"2,1,3,4", "B,4,5"}, "2,B,3,5", two},
	}
}

func shapeOf(s string) (out graph.Shape) {
	for _, p := range splitDims(s) {
		if p < 0 {
			out.Dims = append(out.Dims, graph.Batch)
		} else {
			out.Dims = append(out.Dims, graph.Fixed(p))
		}
	}
	return out
}

// splitDims reads "B,3": -1 for the batch.
func splitDims(s string) (dims []int) {
	n, digits := 0, false
	for _, c := range s + "," {
		switch {
		case c == 'B':
			dims = append(dims, -1)
		case c == ',' && digits:
			dims, n, digits = append(dims, n), 0, false
		case c >= '0' && c <= '9':
			n, digits = 10*n+int(c-'0'), true
		}
	}
	return dims
}

// TestProductsAreThoseOfTheHost compares results with the engine's on the host.
func TestProductsAreThoseOfTheHost(t *testing.T) {
	r := newRig(t, "gemm")
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range matmulCases() {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
			r.t = t
			b := graph.NewBuilder(graph.New())
			var feeds []graph.Output
			var types []graph.Type
			for i, s := range c.in {
				types = append(types, graph.Type{DType: d, Shape: shapeOf(s)})
				feeds = append(feeds, b.Placeholder(fmt.Sprint("x", i), types[i]))
			}
			out := b.Op(c.op, "y", graph.Type{DType: d, Shape: shapeOf(c.out)}, c.attrs, feeds...)
			dev := device.NewHost()
			vars, err := engine.NewVariables(dev)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Compile(b.Graph, engine.Spec{Feeds: feeds, Fetches: []graph.Output{out}}, dev, vars, engine.Options{})
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			for _, batch := range c.batches {
				var in []*tensor.Tensor
				for _, typ := range types {
					v := tensor.New(d, typ.Shape.At(batch)...)
					for j := range v.Len() {
						set(v, j, rng.NormFloat64())
					}
					in = append(in, v)
				}
				if err := p.Run(t.Context(), batch, in); err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
				closeTo(t, fmt.Sprintf("%+v of %v, batch %d", c, d, batch), p.Value(0), r.do(out.Node, in, types, batch))
			}
			if err := errors.Join(p.Close(), vars.Close(), dev.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func set(v *tensor.Tensor, i int, x float64) {
	if v.DType == tensor.Float64 {
		tensor.Values[float64](v)[i] = x
	} else {
		tensor.Values[float32](v)[i] = float32(x)
	}
}

func at(v *tensor.Tensor, i int) float64 {
	if v.DType == tensor.Float64 {
		return tensor.Values[float64](v)[i]
	}
	return float64(tensor.Values[float32](v)[i])
}

func closeTo(t *testing.T, what string, want, got *tensor.Tensor) {
	t.Helper()
	if want.Len() != got.Len() {
		t.Fatalf("%s: expected %d elements, got %d", what, want.Len(), got.Len())
	}
	tolerance := 3e-5
	if want.DType == tensor.Float64 {
		tolerance = 1e-13
	}
	for i := range want.Len() {
		if w, g := at(want, i), at(got, i); !testkit.Near(g, w, tolerance*max(1, math.Abs(w))) {
			t.Fatalf("%s: element %d: expected %g, got %g", what, i, w, g)
		}
	}
}

// TestProductsThatAreRefused expects errors instead of launches.
func TestProductsThatAreRefused(t *testing.T) {
	two := func(d tensor.DType, n int) *engine.Operand {
		return &engine.Operand{Type: graph.Type{DType: d, Shape: graph.ShapeOf(n, n)}}
	}
	vector := &engine.Operand{Type: graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(3)}}
	f := two(tensor.Float32, 2)
	for what, o := range map[string]*engine.Operation{
		"one input":     {Node: &graph.Node{Op: "MatMul"}, In: []*engine.Operand{f}, Out: []*engine.Operand{f}},
		"integers":      {Node: &graph.Node{Op: "MatMul"}, In: []*engine.Operand{two(tensor.Int32, 2), two(tensor.Int32, 2)}, Out: []*engine.Operand{two(tensor.Int32, 2)}},
		"two types":     {Node: &graph.Node{Op: "MatMul"}, In: []*engine.Operand{f, two(tensor.Float64, 2)}, Out: []*engine.Operand{f}},
		"a vector":      {Node: &graph.Node{Op: "MatMul"}, In: []*engine.Operand{f, vector}, Out: []*engine.Operand{f}},
		"a long bias":   {Node: &graph.Node{Op: "_FusedMatMul", Attrs: graph.Attrs{"fused_ops": [][]byte{[]byte("BiasAdd")}}}, In: []*engine.Operand{f, f, vector}, Out: []*engine.Operand{f}},
		"other fusions": {Node: &graph.Node{Op: "_FusedMatMul", Attrs: graph.Attrs{"fused_ops": [][]byte{[]byte("Elu")}}}, In: []*engine.Operand{f, f}, Out: []*engine.Operand{f}},
	} {
		if err := Supports(o); err == nil {
			t.Errorf("%s: expected an error", what)
		} else {
			t.Log(err)
		}
	}
	for what, dims := range map[string][3][]int{
		"sizes along k":    {{2, 3}, {4, 5}, {2, 5}},
		"result":           {{2, 3}, {3, 5}, {2, 6}},
		"batch dimensions": {{2, 2, 3}, {3, 3, 5}, {3, 2, 5}},
		"lost dimensions":  {{2, 2, 3}, {3, 5}, {2, 5}},
	} {
		a, b, out := two(tensor.Float32, 1), two(tensor.Float32, 1), two(tensor.Float32, 1)
		s, err := Lower(&Target{}, &engine.Operation{Node: &graph.Node{Op: "BatchMatMulV2"}, In: []*engine.Operand{a, b}, Out: []*engine.Operand{out}})
		if err != nil {
			t.Fatal(err)
		}
		a.Dims, b.Dims, out.Dims = dims[0], dims[1], dims[2]
		if _, err := s.Bind(); err == nil {
			t.Errorf("%s: expected an error", what)
		}
	}
}
