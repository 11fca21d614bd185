package lower

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// imageCase is an op over images. An input in brackets, [..], only has sizes.
type imageCase struct {
	op    string
	attrs graph.Attrs
	in    []string
	out   string
}

func imageCases() []imageCase {
	attrs := func(padding string, stride int64, more ...any) graph.Attrs {
		a := graph.Attrs{"padding": []byte(padding), "strides": []int64{1, stride, stride, 1}}
		for i := 0; i < len(more); i += 2 {
			a[more[i].(string)] = more[i+1]
		}
		return a
	}
	fused := func(names ...string) [][]byte {
		var b [][]byte
		for _, n := range names {
			b = append(b, []byte(n))
		}
		return b
	}
	same, valid, strided := attrs("SAME", 1), attrs("VALID", 1), attrs("SAME", 2)
	dilated := attrs("SAME", 1, "dilations", []int64{1, 2, 1, 1})
	explicit := attrs("EXPLICIT", 2, "explicit_paddings", []int64{0, 0, 1, 2, 0, 1, 0, 0})
	pool := attrs("SAME", 2, "ksize", []int64{1, 3, 3, 1})
	return []imageCase{
		{"Conv2D", same, []string{"B,6,6,3", "3,3,3,8"}, "B,6,6,8"},
		{"Conv2D", valid, []string{"B,6,5,4", "3,2,4,5"}, "B,4,4,5"},
		{"Conv2D", explicit, []string{"B,6,6,3", "3,3,3,8"}, "B,4,3,8"},
		{"Conv2D", dilated, []string{"B,6,6,3", "3,3,3,8"}, "B,6,6,8"},
		{"_FusedConv2D", attrs("SAME", 2, "fused_ops", fused("BiasAdd", "Relu")), []string{"B,6,6,3", "3,3,3,8", "8"}, "B,3,3,8"},
		{"_FusedConv2D", attrs("SAME", 2, "fused_ops", fused("Relu")), []string{"B,6,6,3", "3,3,3,8"}, "B,3,3,8"},
		{"Conv2DBackpropInput", strided, []string{"[B,6,6,3]", "3,3,3,8", "B,3,3,8"}, "B,6,6,3"},
		{"Conv2DBackpropInput", explicit, []string{"[B,6,6,3]", "3,3,3,8", "B,4,3,8"}, "B,6,6,3"},
		{"Conv2DBackpropFilter", strided, []string{"B,6,6,3", "[3,3,3,8]", "B,3,3,8"}, "3,3,3,8"},
		{"Conv2DBackpropFilter", dilated, []string{"B,6,6,3", "[3,3,3,8]", "B,6,6,8"}, "3,3,3,8"},
		{"DepthwiseConv2dNative", strided, []string{"B,6,6,3", "3,3,3,2"}, "B,3,3,6"},
		{"DepthwiseConv2dNativeBackpropInput", strided, []string{"[B,6,6,3]", "3,3,3,2", "B,3,3,6"}, "B,6,6,3"},
		{"DepthwiseConv2dNativeBackpropFilter", strided, []string{"B,6,6,3", "[3,3,3,2]", "B,3,3,6"}, "3,3,3,2"},
		{"MaxPool", pool, []string{"B,5,6,3"}, "B,3,3,3"},
		{"AvgPool", pool, []string{"B,5,6,3"}, "B,3,3,3"},
		{"MaxPoolGrad", pool, []string{"B,5,6,3", "B,3,3,3", "B,3,3,3"}, "B,5,6,3"},
		{"AvgPoolGrad", pool, []string{"[B,5,6,3]", "B,3,3,3"}, "B,5,6,3"},
	}
}

// sizes returns a constant with the sizes of a shape. Its batch size does not matter, as engines do not read it.
func sizes(s string) *tensor.Tensor {
	dims := splitDims(strings.Trim(s, "[]"))
	v := tensor.New(tensor.Int32, len(dims))
	for i, d := range dims {
		tensor.Values[int32](v)[i] = int32(d)
	}
	return v
}

// TestImagesAreThoseOfTheHost compares results with the engine's on the host.
func TestImagesAreThoseOfTheHost(t *testing.T) {
	r := newRig(t, "conv", "depthwise", "pool")
	for _, c := range imageCases() {
		for _, batch := range []int{1, 3} {
			r.t = t
			in, types, want := hostResult(t, c, batch)
			got := r.do(&graph.Node{Name: "y", Op: c.op, Attrs: c.attrs, Outputs: []graph.Type{{DType: tensor.Float32, Shape: shapeOf(c.out)}}}, in, types, batch)
			closeTo(t, fmt.Sprintf("%+v, batch %d", c, batch), want, got)
		}
	}
}

// hostResult makes the inputs of a case and computes the result with the engine on the host.
func hostResult(t *testing.T, c imageCase, batch int) (in []*tensor.Tensor, types []graph.Type, want *tensor.Tensor) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	b := graph.NewBuilder(graph.New())
	var feeds, inputs []graph.Output
	var fed []*tensor.Tensor
	for i, s := range c.in {
		if strings.HasPrefix(s, "[") {
			v := sizes(s)
			in, types = append(in, nil), append(types, graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(4)})
			inputs = append(inputs, b.Const(fmt.Sprint("sizes", i), v))
			continue
		}
		typ := graph.Type{DType: tensor.Float32, Shape: shapeOf(s)}
		v := tensor.New(tensor.Float32, typ.Shape.At(batch)...)
		for j := range v.Len() {
			set(v, j, rng.NormFloat64())
		}
		f := b.Placeholder(fmt.Sprint("x", i), typ)
		in, types, fed, feeds, inputs = append(in, v), append(types, typ), append(fed, v), append(feeds, f), append(inputs, f)
	}
	if c.op == "MaxPoolGrad" { // y must be the result for x
		in[1] = maxPooled(t, c, in[0], batch)
		fed[1] = in[1]
	}
	out := b.Op(c.op, "y", graph.Type{DType: tensor.Float32, Shape: shapeOf(c.out)}, c.attrs, inputs...)
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Compile(b.Graph, engine.Spec{Feeds: feeds, Fetches: []graph.Output{out}}, dev, vars, engine.Options{})
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if err := p.Run(t.Context(), batch, fed); err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	want = p.Value(0).Clone()
	if err := errors.Join(p.Close(), vars.Close(), dev.Close()); err != nil {
		t.Fatal(err)
	}
	return in, types, want
}

func maxPooled(t *testing.T, c imageCase, x *tensor.Tensor, batch int) *tensor.Tensor {
	b := graph.NewBuilder(graph.New())
	f := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: shapeOf(c.in[0])})
	y := b.Op("MaxPool", "y", graph.Type{DType: tensor.Float32, Shape: shapeOf(c.in[1])}, c.attrs, f)
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Compile(b.Graph, engine.Spec{Feeds: []graph.Output{f}, Fetches: []graph.Output{y}}, dev, vars, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), batch, []*tensor.Tensor{x}); err != nil {
		t.Fatal(err)
	}
	v := p.Value(0).Clone()
	if err := errors.Join(p.Close(), vars.Close(), dev.Close()); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestImagesThatAreRefused expects errors instead of launches.
func TestImagesThatAreRefused(t *testing.T) {
	of := func(d tensor.DType, dims ...int) *engine.Operand {
		return &engine.Operand{Type: graph.Type{DType: d, Shape: graph.ShapeOf(dims...)}, Dims: dims}
	}
	x, w, y := of(tensor.Float32, 1, 4, 4, 3), of(tensor.Float32, 3, 3, 3, 2), of(tensor.Float32, 1, 4, 4, 2)
	attrs := func(change ...any) graph.Attrs {
		a := graph.Attrs{"padding": []byte("SAME"), "strides": []int64{1, 1, 1, 1}, "ksize": []int64{1, 2, 2, 1}}
		for i := 0; i < len(change); i += 2 {
			a[change[i].(string)] = change[i+1]
		}
		return a
	}
	for what, o := range map[string]*engine.Operation{
		"NCHW":               {Node: &graph.Node{Op: "Conv2D", Attrs: attrs("data_format", []byte("NCHW"))}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"strides":            {Node: &graph.Node{Op: "Conv2D", Attrs: attrs("strides", []int64{1, 0, 1, 1})}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"dilations":          {Node: &graph.Node{Op: "Conv2D", Attrs: attrs("dilations", []int64{2, 1, 1, 1})}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"padding":            {Node: &graph.Node{Op: "Conv2D", Attrs: attrs("padding", []byte("EXPLICIT"))}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"channels":           {Node: &graph.Node{Op: "Conv2D", Attrs: attrs()}, In: []*engine.Operand{x, of(tensor.Float32, 3, 3, 4, 2)}, Out: []*engine.Operand{y}},
		"types":              {Node: &graph.Node{Op: "Conv2D", Attrs: attrs()}, In: []*engine.Operand{x, of(tensor.BFloat16, 3, 3, 3, 2)}, Out: []*engine.Operand{y}},
		"float64":            {Node: &graph.Node{Op: "MaxPool", Attrs: attrs()}, In: []*engine.Operand{of(tensor.Float64, 1, 4, 4, 2)}, Out: []*engine.Operand{of(tensor.Float64, 1, 4, 4, 2)}},
		"rank":               {Node: &graph.Node{Op: "Conv2D", Attrs: attrs()}, In: []*engine.Operand{of(tensor.Float32, 4, 4, 3), w}, Out: []*engine.Operand{y}},
		"inputs":             {Node: &graph.Node{Op: "Conv2DBackpropInput", Attrs: attrs()}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"fused":              {Node: &graph.Node{Op: "_FusedConv2D", Attrs: attrs("fused_ops", [][]byte{[]byte("Add")})}, In: []*engine.Operand{x, w, y}, Out: []*engine.Operand{y}},
		"bias":               {Node: &graph.Node{Op: "_FusedConv2D", Attrs: attrs("fused_ops", [][]byte{[]byte("BiasAdd")})}, In: []*engine.Operand{x, w, of(tensor.Float32, 3)}, Out: []*engine.Operand{y}},
		"ksize":              {Node: &graph.Node{Op: "MaxPool", Attrs: attrs("ksize", []int64{2, 2})}, In: []*engine.Operand{y}, Out: []*engine.Operand{y}},
		"pooled gradients":   {Node: &graph.Node{Op: "MaxPoolGrad", Attrs: attrs()}, In: []*engine.Operand{x, y, y}, Out: []*engine.Operand{y}},
		"depthwise channels": {Node: &graph.Node{Op: "DepthwiseConv2dNative", Attrs: attrs()}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
		"sizes":              {Node: &graph.Node{Op: "Conv2D", Attrs: attrs("padding", []byte("VALID"))}, In: []*engine.Operand{x, w}, Out: []*engine.Operand{y}},
	} {
		s, err := Lower(&Target{}, o)
		if err == nil {
			_, err = s.Bind()
		}
		if err == nil {
			t.Errorf("%s: expected an error", what)
		} else {
			t.Log(err)
		}
	}
}
