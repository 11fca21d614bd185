package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sample is a graph that each implementation of the ops computes: a chain of steps. The last step may be
// refused.
type sample []step

// step is one op.
type step struct {
	op    string
	attrs graph.Attrs
	in    []operand
	outs  []tensor.DType
}

// operand is an input: output `out` of an earlier step, or a tensor, fed or constant.
type operand struct {
	from, out int // a step's position, from 1; 0: none
	t         *tensor.Tensor
	fed       bool
}

func constantOf(t *tensor.Tensor) operand { return operand{t: t} }
func fedOf(t *tensor.Tensor) operand      { return operand{t: t, fed: true} }

// String lists the steps with their inputs.
func (s sample) String() string {
	var b strings.Builder
	for i, st := range s {
		fmt.Fprintf(&b, "%d: %s", i+1, st.op)
		for _, name := range slices.Sorted(maps.Keys(st.attrs)) {
			v := st.attrs[name]
			if text, ok := v.([]byte); ok {
				v = string(text)
			}
			fmt.Fprintf(&b, " %s=%v", name, v)
		}
		for _, o := range st.in {
			switch {
			case o.from > 0:
				fmt.Fprintf(&b, " <%d:%d>", o.from, o.out)
			case o.fed:
				fmt.Fprintf(&b, " fed %s", brief(o.t))
			default:
				fmt.Fprintf(&b, " %s", brief(o.t))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func brief(t *tensor.Tensor) string {
	s := fmt.Sprintf("%v%v", t.DType, t.Shape)
	for i := range min(t.Len(), 12) {
		s += fmt.Sprint(" ", t.Float(i))
	}
	return s
}

// differLimit is the maximum bytes of a tensor of a sample.
const differLimit = 1 << 22

// node returns the step without its inputs.
func (st step) node() *graph.Node {
	return &graph.Node{Name: "node", Op: st.op, Attrs: st.attrs, Outputs: make([]graph.Type, len(st.outs))}
}

// eagerly runs the step after the steps with the given values.
func (st step) eagerly(values [][]eager.Value) ([]eager.Value, error) {
	in := make([]eager.Value, len(st.in))
	for i, o := range st.in {
		if in[i].T = o.t; o.from > 0 {
			in[i] = values[o.from-1][o.out]
		}
	}
	return eager.Run(context.Background(), st.node(), in, &eager.Env{Limit: differLimit})
}

// reference computes all steps by their kernels; the error is the last step's.
func (s sample) reference() (values [][]eager.Value, err error) {
	for i, st := range s {
		out, err := st.eagerly(values)
		if err != nil && i < len(s)-1 {
			return nil, fmt.Errorf("step %d of %d is not the last, but fails: %w", i+1, len(s), err)
		}
		if err != nil {
			return values, err
		}
		values = append(values, out)
	}
	return values, nil
}

// build makes the graph of the steps; types returns the output types of step i.
func (s sample) build(types func(i int) []graph.Type, fed func(t *tensor.Tensor) graph.Shape) (b *graph.Builder, last *graph.Node, feeds []graph.Output, values []*tensor.Tensor) {
	b = graph.NewBuilder(graph.New())
	made := make([]*graph.Node, len(s))
	for i, st := range s {
		var in []graph.Output
		for k, o := range st.in {
			switch name := fmt.Sprintf("in_%d_%d", i, k); {
			case o.from > 0:
				in = append(in, made[o.from-1].Out(o.out))
			case o.fed:
				x := b.Placeholder(name, graph.Type{DType: o.t.DType, Shape: fed(o.t)})
				feeds, values = append(feeds, x), append(values, o.t)
				in = append(in, x)
			default:
				in = append(in, b.Const(name, o.t))
			}
		}
		made[i] = b.Node(st.op, fmt.Sprintf("step_%d", i), types(i), maps.Clone(st.attrs), in...)
	}
	return b, made[len(s)-1], feeds, values
}

// served computes the last step's outputs as a served model; the feeds have an open batch or no stated sizes.
func (s sample) served(t testing.TB, stated bool) ([]*tensor.Tensor, error) {
	b, last, feeds, values := s.build(func(i int) []graph.Type {
		types := make([]graph.Type, len(s[i].outs))
		for k, d := range s[i].outs {
			types[k] = graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}}
		}
		return types
	}, func(x *tensor.Tensor) graph.Shape {
		shape := graph.ShapeOf(x.Shape...)
		if !stated {
			return graph.Shape{UnknownRank: true}
		}
		if len(shape.Dims) > 0 {
			shape.Dims[0] = graph.Unknown
		}
		return shape
	})
	if err := b.Err(); err != nil {
		t.Fatalf("%v\n%s", err, s)
	}
	anchor := last.Out(0)
	mg := metaGraph(t, b.Graph, anchor, anchor)
	sig := &pb.SignatureDef{Inputs: map[string]*pb.TensorInfo{}, Outputs: map[string]*pb.TensorInfo{}}
	given := map[string]*tensor.Tensor{}
	for i, f := range feeds {
		sig.Inputs[fmt.Sprint(i)] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: f.String()}}
		given[f.String()] = values[i]
	}
	var fetches []string
	for k := range last.Outputs {
		name := last.Out(k).String()
		sig.Outputs[fmt.Sprint(k)] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: name}}
		fetches = append(fetches, name)
	}
	for key := range mg.Signatures {
		mg.Signatures[key] = sig
	}
	m, err := session.Load(context.Background(), mg, session.Options{Limit: differLimit, MaxConcurrent: 1})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	return m.Run(context.Background(), given, fetches)
}

// errNoForm says that an implementation does not have an op, or a part of it.
var errNoForm = errors.New("no form")

// compiled computes the outputs of the last step by a program. The result types, which the engine's graph states, are the
// kernels'. If the last step is refused, they have the sizes that it would have, if these are known.
func (s sample) compiled(t testing.TB, want [][]eager.Value) ([]*tensor.Tensor, error) {
	types := make([][]graph.Type, len(s))
	known := make([][]infer.Value, len(s))
	for i, st := range s {
		if !engine.Supported(st.op) {
			return nil, fmt.Errorf("%w: op %s", errNoForm, st.op)
		}
		if i < len(want) {
			for k := range st.outs {
				v := want[i][k]
				known[i] = append(known[i], infer.Of(v.T))
				types[i] = append(types[i], graph.Type{DType: st.outs[k], Shape: graph.ShapeOf(v.T.Shape...)})
			}
			continue
		}
		var in []infer.Value
		for _, o := range st.in {
			if o.from > 0 {
				in = append(in, known[o.from-1][o.out])
			} else {
				in = append(in, infer.Of(o.t))
			}
		}
		out, err := infer.Node(st.node(), in)
		if err != nil {
			return nil, err
		}
		for k, v := range out {
			if n, err := infer.Elements(v.Shape); !v.Known || err != nil || n > differLimit/8 {
				return nil, fmt.Errorf("%w: sizes of a result are not known", errNoForm)
			}
			types[i] = append(types[i], graph.Type{DType: st.outs[k], Shape: graph.ShapeOf(v.Shape...)})
		}
	}
	b, last, feeds, values := s.build(func(i int) []graph.Type { return types[i] }, func(x *tensor.Tensor) graph.Shape { return graph.ShapeOf(x.Shape...) })
	if err := b.Err(); err != nil {
		t.Fatalf("%v\n%s", err, s)
	}
	return runProgram(t, b.Graph, last, feeds, values)
}

func runProgram(t testing.TB, g *graph.Graph, last *graph.Node, feeds []graph.Output, values []*tensor.Tensor) ([]*tensor.Tensor, error) {
	dev := device.NewHost()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	spec := engine.Spec{Feeds: feeds}
	for k := range last.Outputs {
		spec.Fetches = append(spec.Fetches, last.Out(k))
	}
	p, err := engine.Compile(g, spec, dev, vars, engine.Options{})
	defer func() {
		if p != nil {
			err = errors.Join(p.Close())
		}
		if err := errors.Join(vars.Close(), dev.Close()); err != nil {
			t.Error(err)
		}
	}()
	if u := (*engine.UnsupportedOpError)(nil); errors.As(err, &u) && !strings.HasPrefix(u.Reason, "panic") {
		return nil, fmt.Errorf("%w: %w", errNoForm, err)
	}
	if err != nil {
		return nil, err
	}
	if err := p.Run(context.Background(), 1, values); err != nil {
		return nil, err
	}
	var out []*tensor.Tensor
	for k := range last.Outputs {
		out = append(out, p.Value(k).Clone())
	}
	return out, nil
}

// differ fails if the implementations disagree: on what they refuse, on what is the caller's fault, or on results.
func differ(t testing.TB, s sample) {
	t.Helper()
	want, refused := s.reference()
	if len(want) < len(s)-1 {
		t.Fatalf("%v\n%s", refused, s)
	}
	if errors.Is(refused, eager.ErrUnsupported) || errors.Is(refused, eager.ErrLimit) {
		return
	}
	for _, stated := range []bool{false, true} {
		got, err := s.served(t, stated)
		compare(t, s, "session", outcome{got, err}, outcome{lastOf(want, refused), refused})
		if code := status.Code(err); err != nil && code != codes.InvalidArgument {
			t.Errorf("the session refuses with %v: %v\n%s", code, err, s)
		}
	}
	got, err := s.compiled(t, want)
	if !errors.Is(err, errNoForm) {
		compare(t, s, "engine", outcome{got, err}, outcome{lastOf(want, refused), refused})
	}
	if panicked := (*engine.PanicError)(nil); errors.As(err, &panicked) {
		t.Errorf("the engine panicked: %v\n%s", err, s)
	}
}

// outcome is an implementation's result for a sample.
type outcome struct {
	out []*tensor.Tensor
	err error
}

func lastOf(values [][]eager.Value, err error) []*tensor.Tensor {
	if err != nil {
		return nil
	}
	var out []*tensor.Tensor
	for _, v := range values[len(values)-1] {
		out = append(out, v.T)
	}
	return out
}

func compare(t testing.TB, s sample, who string, got, want outcome) {
	t.Helper()
	switch {
	case want.err != nil && got.err == nil:
		t.Errorf("eager refuses with %q, but the %s computes %v\n%s", want.err, who, brief(got.out[0]), s)
	case want.err == nil && got.err != nil:
		t.Errorf("eager computes %s, but the %s refuses: %v\n%s", brief(want.out[0]), who, got.err, s)
	case want.err != nil:
		if strings.Contains(want.err.Error()+got.err.Error(), "runtime error") {
			t.Errorf("a panic is no way to refuse: eager %v; %s: %v\n%s", want.err, who, got.err, s)
		}
		return
	}
	if got.err != nil {
		return
	}
	for k, w := range want.out {
		if err := alike(got.out[k], w); err != nil {
			t.Errorf("output %d: %s: %v\n%s", k, who, err, s)
		}
	}
}

// alike compares two tensors; floats may differ in their last bits.
func alike(got, want *tensor.Tensor) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %s, expected %s", brief(got), brief(want))
	}
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if testkit.Near(g, w, 1e-4*max(1, math.Abs(w))) {
			continue
		}
		return fmt.Errorf("element %d: got %s, expected %s", i, brief(got), brief(want))
	}
	return nil
}
