package eager

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// mangler changes nodes and inputs at random.
type mangler struct{ *rand.Rand }

var oddNumbers = []int64{-1, 0, 1, 2, 3, 5, 7, -2, 255, 256, 1 << 20, math.MaxInt32, math.MinInt32, 1 << 40, math.MaxInt64, math.MinInt64}

func (m mangler) number() int64 { return oddNumbers[m.IntN(len(oddNumbers))] }

func (m mangler) attr(v any) any {
	switch v := v.(type) {
	case int64:
		return m.number()
	case bool:
		return !v
	case float32:
		return float32(m.number())
	case tensor.DType:
		return tensor.DType(m.IntN(24))
	case []byte:
		return m.bytes(v)
	case []int64:
		v = slices.Clone(v)
		if len(v) > 0 && m.IntN(3) > 0 {
			v[m.IntN(len(v))] = m.number()
			return v
		}
		return v[:m.IntN(len(v)+1)]
	case [][]byte:
		return v[:m.IntN(len(v)+1)]
	case []tensor.DType:
		v = slices.Clone(v)
		if len(v) > 0 && m.IntN(3) > 0 {
			v[m.IntN(len(v))] = tensor.DType(m.IntN(24))
			return v
		}
		return v[:m.IntN(len(v)+1)]
	case []graph.Shape:
		return v[:m.IntN(len(v)+1)]
	case []float32:
		return v[:m.IntN(len(v)+1)]
	case graph.Shape:
		return graph.ShapeOf(m.shape()...)
	}
	return v
}

func (m mangler) bytes(b []byte) []byte {
	b = slices.Clone(b)
	switch m.IntN(3) {
	case 0:
		return b[:m.IntN(len(b)+1)]
	case 1:
		return append(b, byte(m.IntN(256)))
	}
	for range min(len(b), 1+m.IntN(3)) {
		b[m.IntN(len(b))] = byte(m.IntN(256))
	}
	return b
}

func (m mangler) shape() []int {
	s := make([]int, m.IntN(5))
	for i := range s {
		s[i] = m.IntN(4)
	}
	return s
}

// resized returns a tensor of another shape with the elements of t repeated.
func resized(t *tensor.Tensor, d tensor.DType, shape []int) *tensor.Tensor {
	out := tensor.New(d, shape...)
	for i := range out.Bytes {
		if len(t.Bytes) > 0 {
			out.Bytes[i] = t.Bytes[i%len(t.Bytes)]
		}
	}
	if d == tensor.Bool {
		for i := range out.Bytes {
			out.Bytes[i] &= 1
		}
	}
	for i := range out.Strings {
		if len(t.Strings) > 0 {
			out.Strings[i] = t.Strings[i%len(t.Strings)]
		}
	}
	return out
}

var someTypes = []tensor.DType{tensor.Float32, tensor.Int32, tensor.Int64, tensor.String, tensor.Bool, tensor.Uint8, tensor.Float16, tensor.Float64}

func (m mangler) tensor(t *tensor.Tensor) *tensor.Tensor {
	switch m.IntN(4) {
	case 0:
		return resized(t, t.DType, m.shape())
	case 1:
		return resized(t, someTypes[m.IntN(len(someTypes))], t.Shape)
	case 2:
		shape := slices.Clone(t.Shape)
		if len(shape) > 0 {
			shape[m.IntN(len(shape))] = m.IntN(3)
		}
		return resized(t, t.DType, shape)
	}
	t = t.Clone()
	switch n := t.Len(); {
	case n == 0:
	case t.DType == tensor.Int32:
		tensor.Values[int32](t)[m.IntN(n)] = int32(m.number())
	case t.DType == tensor.Int64:
		tensor.Values[int64](t)[m.IntN(n)] = m.number()
	case t.DType == tensor.Float32:
		tensor.Values[float32](t)[m.IntN(n)] = float32(math.NaN())
	case t.DType == tensor.String:
		i := m.IntN(n)
		t.Strings[i] = m.bytes(t.Strings[i])
	}
	return t
}

// mangled returns a changed case.
func (m mangler) mangled(n *graph.Node, in []Value) (*graph.Node, []Value) {
	c := &graph.Node{Name: n.Name, Op: n.Op, Attrs: graph.Attrs{}}
	names := make([]string, 0, len(n.Attrs))
	for k, v := range n.Attrs {
		names = append(names, k)
		c.Attrs[k] = v
	}
	slices.Sort(names)
	in = slices.Clone(in)
	for range 1 + m.IntN(3) {
		switch k := m.IntN(8); {
		case k < 2 && len(names) > 0:
			a := names[m.IntN(len(names))]
			c.Attrs[a] = m.attr(c.Attrs[a])
		case k == 2 && len(in) > 0 && m.IntN(4) == 0:
			in = in[:len(in)-1]
		case len(in) > 0:
			i := m.IntN(len(in))
			if in[i].T != nil {
				in[i].T = m.tensor(in[i].T)
			}
		}
	}
	return c, in
}

// checkRun fails if a run panics, or returns inconsistent tensors.
func checkRun(t *testing.T, n *graph.Node, in []Value) {
	checkRunIn(context.Background(), t, &Env{Limit: 1 << 20, Resources: NewResources()}, n, in)
}

func checkRunIn(ctx context.Context, t *testing.T, env *Env, n *graph.Node, in []Value) {
	out, err := Run(ctx, n, in, env)
	if errors.Is(err, errPanic) {
		t.Errorf("%v\nattributes %v\ninputs %s", err, n.Attrs, describeAll(in))
	}
	for i, v := range out {
		if v.T == nil {
			continue
		}
		count, err := elements(v.T.Shape)
		if v.T.DType == tensor.String && len(v.T.Strings) != count || v.T.DType != tensor.String && len(v.T.Bytes) != count*v.T.DType.Size() || err != nil {
			t.Errorf("%s: output %d of shape %v has %d bytes and %d strings, %v\nattributes %v\ninputs %s", n.Op, i, v.T.Shape, len(v.T.Bytes), len(v.T.Strings), err, n.Attrs, describeAll(in))
		}
	}
}

func describeAll(in []Value) string {
	s := ""
	for _, v := range in {
		s += describe(v.T) + "; "
	}
	return s
}

// TestMangled: recorded inputs of TensorFlow, changed at random, never cause a panic.
func TestMangled(t *testing.T) {
	cases := readGolden(t)
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for i, c := range cases {
		n, in := c.node(t)
		for r := range rounds {
			m := mangler{rand.New(rand.NewPCG(uint64(i), uint64(r)))}
			cn, cin := m.mangled(n, in)
			checkRun(t, cn, cin)
		}
	}
}

// TestMangledSequences: the same for ops that keep state, and for recorded sequences.
func TestMangledSequences(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 3
	}
	for i, s := range greedySources(t) {
		for r := range rounds {
			env := &Env{Limit: 1 << 20, Resources: NewResources()}
			m := mangler{rand.New(rand.NewPCG(uint64(i), uint64(r)))}
			n, in := m.mangled(s.node, s.inputs(env))
			checkRunIn(s.context(t), t, env, n, in)
		}
	}
}

// FuzzRun runs the golden cases, changed by seeds.
func FuzzRun(f *testing.F) {
	cases := readGolden(f)
	f.Add(uint64(0), uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, i, a, b uint64) {
		n, in := cases[i%uint64(len(cases))].node(t)
		cn, cin := mangler{rand.New(rand.NewPCG(a, b))}.mangled(n, in)
		checkRun(t, cn, cin)
	})
}

// FuzzStridedSlice: masks of all kinds give consistent shapes.
func FuzzStridedSlice(f *testing.F) {
	f.Add(int64(1), int64(-1), int64(1), uint8(1), uint8(2), uint8(4), uint8(8), uint8(16))
	f.Fuzz(func(t *testing.T, begin, end, step int64, m0, m1, m2, m3, m4 uint8) {
		n := &graph.Node{Name: "n", Op: "StridedSlice", Attrs: graph.Attrs{"begin_mask": int64(m0), "end_mask": int64(m1), "ellipsis_mask": int64(m2),
			"new_axis_mask": int64(m3), "shrink_axis_mask": int64(m4)}}
		spec := func(v int64) Value { return Value{T: tensorOf([]int64{v, v / 2, 1}, 3)} }
		checkRun(t, n, []Value{{T: tensor.New(tensor.Int32, 3, 0, 4, 2)}, spec(begin), spec(end), spec(step)})
		checkRun(t, n, []Value{{T: tensor.New(tensor.Int32, 3, 5, 4, 2)}, spec(begin), spec(end), spec(step)})
	})
}

// fuzzParse parses the input of FuzzParseExample.
func fuzzParse(e []byte) ([]Value, error) {
	n := &graph.Node{Name: "n", Op: "ParseExampleV2", Attrs: graph.Attrs{"num_sparse": int64(3), "sparse_types": []tensor.DType{tensor.Int64, tensor.Float32, tensor.String},
		"Tdense": []tensor.DType{tensor.Float32}, "dense_shapes": []graph.Shape{graph.ShapeOf(2)},
		"ragged_value_types": []tensor.DType{tensor.Int64}, "ragged_split_types": []tensor.DType{tensor.Int32}}}
	one, _ := tensor.FromStrings([][]byte{e}, 1)
	return Run(context.Background(), n, []Value{{T: one}, {T: texts()}, {T: texts("i", "f", "b")}, {T: texts("d")}, {T: texts("r")}, {T: tensorOf([]float32{5, 6}, 2)}}, nil)
}

// FuzzParseExample: whatever the protobuf library accepts as an
// example with the columns' kinds is parsed to the same values.
func FuzzParseExample(f *testing.F) {
	seed := &example.Example{Features: &example.Features{Feature: map[string]*example.Feature{
		"i": {Kind: &example.Feature_Int64List{Int64List: &example.Int64List{Value: []int64{1, -2, 300}}}},
		"f": {Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: []float32{1, 2}}}},
		"b": {Kind: &example.Feature_BytesList{BytesList: &example.BytesList{Value: [][]byte{{}, {1, 2}}}}},
		"d": {Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: []float32{3, 4}}}},
	}}}
	b, err := proto.Marshal(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(append(b, b...))
	f.Add([]byte("\x0a\x13\x0a\x11\x0a\x01d\x12\x0c\x12\x0a\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := fuzzParse(b)
		if errors.Is(err, errPanic) {
			t.Fatal(err)
		}
		var want example.Example
		if proto.Unmarshal(b, &want) != nil || err != nil {
			return
		}
		features := want.GetFeatures().GetFeature()
		if got := tensor.Values[int64](out[3].T); !slices.Equal(got, features["i"].GetInt64List().GetValue()) {
			t.Errorf("i: got %v, expected %v", got, features["i"])
		}
		same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
		if got := tensor.Values[float32](out[4].T); !slices.EqualFunc(got, features["f"].GetFloatList().GetValue(), same) {
			t.Errorf("f: got %v, expected %v", got, features["f"])
		}
		if got := out[5].T.Strings; !slices.EqualFunc(got, features["b"].GetBytesList().GetValue(), bytes.Equal) {
			t.Errorf("b: got %q, expected %v", got, features["b"])
		}
	})
}
