package eager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// TestKinds: the types that takes returns are the ones that the kernels support. Each recorded case is run in all types.
func TestKinds(t *testing.T) {
	p := &probes{taken: map[probe]bool{}, refused: map[probe][]error{}}
	for _, c := range slices.Concat(readGolden(t), readCases[goldenCase](t, "testdata/edges.json.gz")) {
		p.step(t, c)
	}
	for _, c := range readCases[goldenDraw](t, "testdata/random.json.gz") {
		if c.Steps == nil {
			p.step(t, c.goldenCase)
		} else {
			p.sequence(t, goldenSequence{Steps: c.Steps, Error: c.Error})
		}
	}
	for _, file := range []string{"testdata/sequences.json.gz", "testdata/updates.json.gz"} {
		for _, c := range readCases[goldenSequence](t, file) {
			p.sequence(t, c)
		}
	}
	for of := range p.taken {
		for _, attr := range strings.Fields(of.attrs) {
			if !announced(of.op, attr, of.typ) {
				t.Errorf("%s takes %s = %v, but does not announce it", of.op, attr, of.typ)
			}
		}
	}
	for of, errs := range p.refused {
		says := func(attr string) bool { return !announced(of.op, attr, of.typ) }
		if !p.taken[of] && !slices.ContainsFunc(strings.Fields(of.attrs), says) {
			t.Errorf("%s announces %s = %v: %v", of.op, of.attrs, of.typ, errs[0])
		}
	}
	if len(p.taken) < 2500 {
		t.Errorf("got %d types that ops take, expected thousands", len(p.taken))
	}
}

func announced(op, attr string, d tensor.DType) bool {
	def := ops.Find(op)
	at := slices.IndexFunc(typeAttrs(def), func(a ops.Attr) bool { return a.Name == attr })
	return checkType(def, typeAttrs(def)[at], d) == nil
}

// probe is an op whose attributes, which have the same type in a case, are set to another type.
type probe struct {
	op, attrs string
	typ       tensor.DType
}

type probes struct {
	taken   map[probe]bool
	refused map[probe][]error
}

func (p *probes) step(t *testing.T, c goldenCase) {
	s := goldenStep{Op: c.Op, Attrs: c.Attrs}
	for i := range c.Inputs {
		s.Inputs = append(s.Inputs, struct {
			Tensor       *goldenTensor
			Step, Output int
		}{Tensor: &c.Inputs[i]})
	}
	p.sequence(t, goldenSequence{Steps: []goldenStep{s}, Error: c.Error})
}

// sequence runs steps again, with each of their types replaced by each other type.
func (p *probes) sequence(t *testing.T, c goldenSequence) {
	if c.Error != "" {
		c.Steps = c.Steps[:len(c.Steps)-1]
	}
	present := map[tensor.DType]bool{}
	for _, s := range c.Steps {
		for _, a := range s.Attrs {
			if a.Type != nil {
				present[*a.Type] = true
			}
		}
	}
	for from := range present {
		for _, to := range allKinds {
			env, done := &Env{Resources: NewResources()}, [][]Value(nil)
			for _, s := range c.Steps {
				out, ok := p.run(t, env, retyped{s, from, to}, done)
				if !ok {
					break
				}
				done = append(done, out)
			}
		}
	}
}

// retyped is a step with one of its types replaced.
type retyped struct {
	goldenStep
	from, to tensor.DType
}

// node returns the node, and the attributes with the new type; false if the definition does not allow it.
func (r retyped) node(t *testing.T) (n *graph.Node, changed []string, ok bool) {
	n = &graph.Node{Name: "n", Op: r.Op, Attrs: graph.Attrs{}}
	known := typeAttrs(ops.Find(r.Op))
	for name, a := range r.Attrs {
		n.Attrs[name] = a.value(t)
		at := slices.IndexFunc(known, func(k ops.Attr) bool { return k.Name == name })
		if d, is := n.Attrs[name].(tensor.DType); !is || d != r.from || at < 0 {
			continue
		}
		if of := known[at].Types; of != nil && !slices.Contains(of, r.to) {
			return nil, nil, false
		}
		n.Attrs[name], changed = r.to, append(changed, name)
	}
	slices.Sort(changed)
	return n, changed, true
}

// run runs a step and notes the outcome; it returns false if the next step cannot run.
func (p *probes) run(t *testing.T, env *Env, r retyped, done [][]Value) ([]Value, bool) {
	n, changed, ok := r.node(t)
	of := probe{r.Op, strings.Join(changed, " "), r.to}
	if !ok || len(done) == 0 && p.taken[of] || len(p.refused[of]) > 20 && !p.taken[of] {
		return nil, false
	}
	var in []Value
	for k, x := range r.Inputs {
		if x.Tensor == nil {
			in = append(in, done[x.Step][x.Output])
			continue
		}
		v := x.Tensor.tensor()
		if a := ops.Find(r.Op).InputAt(k, len(r.Inputs)); v.DType == r.from && len(changed) > 0 && (a.TypeAttr != "" || a.Type != r.from) {
			v = inType(v, r.to)
		}
		in = append(in, Value{T: v})
	}
	out, err := Run(context.Background(), n, in, env)
	switch {
	case len(changed) == 0, of == probe{"Cast", "DstT SrcT", r.to}: // nothing to note
	case err == nil:
		p.taken[of] = true
	case ofType(err):
		p.refused[of] = append(p.refused[of], err)
	}
	return out, err == nil
}

// ofType reports whether an error is about a type: no other messages have these words.
func ofType(err error) bool {
	m := err.Error()
	return errors.Is(err, ErrUnsupported) || errors.Is(err, errPanic) || strings.Contains(m, "expected type") || strings.Contains(m, "expected int32 or int64, got")
}

// inType returns the values of t, or ones, in another type.
func inType(t *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	o := tensor.New(d, t.Shape...)
	for i := range o.Len() {
		v := 1.0
		if t.DType != tensor.String && t.DType != tensor.Complex64 {
			v = t.Float(i)
		}
		if d == tensor.String {
			o.Strings[i] = []byte(fmt.Sprint(int(v)))
		}
		if set := setters[d]; set != nil {
			set(o, i, v)
		}
	}
	return o
}

func setter[T float | integral](o *tensor.Tensor, i int, v float64) { tensor.Values[T](o)[i] = T(v) }

var setters = map[tensor.DType]func(*tensor.Tensor, int, float64){
	tensor.Float32: setter[float32], tensor.Float64: setter[float64], tensor.Int8: setter[int8], tensor.Int16: setter[int16], tensor.Int32: setter[int32],
	tensor.Int64: setter[int64], tensor.Uint8: setter[uint8], tensor.Uint16: setter[uint16], tensor.Uint32: setter[uint32], tensor.Uint64: setter[uint64],
	tensor.Bool: func(o *tensor.Tensor, i int, v float64) { tensor.Values[bool](o)[i] = v != 0 },
}

// TestKindsNameOps: the tables name ops with kernels, and attributes that they have.
func TestKindsNameOps(t *testing.T) {
	for name := range every() {
		if !Supported(name) {
			t.Errorf("%s has no kernel", name)
		}
	}
	for name, attrs := range fewer() {
		for attr := range attrs {
			if !Supported(name) || !slices.ContainsFunc(typeAttrs(ops.Find(name)), func(a ops.Attr) bool { return a.Name == attr }) {
				t.Errorf("%s has no kernel, or no attribute %s", name, attr)
			}
		}
	}
}

// TestCheck: what is refused without running, and what is not.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		want  string // "" if it is accepted
	}{
		{"MatMul", graph.Attrs{"T": tensor.Float32}, ""},
		{"MatMul", graph.Attrs{"T": tensor.Float16}, ""},
		{"MatMul", graph.Attrs{"T": tensor.Uint8}, `node "n" (MatMul): T = uint8 is not supported: expected float32, float64, int32, complex64, int64, bfloat16, complex128, float16`},
		{"GatherV2", graph.Attrs{"Tparams": tensor.Float16, "Tindices": tensor.Int64, "Taxis": tensor.Int32}, ""},
		{"GatherV2", graph.Attrs{"Tparams": tensor.DType(11)}, `Tparams = qint8 is not supported`},
		{"LeakyRelu", nil, ""}, // the default type
		{"Placeholder", graph.Attrs{"dtype": tensor.Resource}, ""},
		{"Identity", graph.Attrs{"T": tensor.Variant}, ""},
		{"TensorListGetItem", graph.Attrs{"element_dtype": tensor.Variant}, ""},
		{"Relu", graph.Attrs{"T": tensor.Resource}, "T = resource is not supported"},
		{"Einsum", graph.Attrs{"T": tensor.Float32, "equation": []byte("ab,bc,cd->ad")}, "more than two operands"},
		{"NoSuchOp", nil, "op not supported"},
	} {
		err := Check(&graph.Node{Name: "n", Op: c.op, Attrs: c.attrs})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %v: %v", c.op, c.attrs, err)
		case c.want != "" && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %v: got %v, expected %s", c.op, c.attrs, err, c.want)
		}
	}
}
