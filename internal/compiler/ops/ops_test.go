package ops

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestDefinitions: all definitions parse and are consistent.
func TestDefinitions(t *testing.T) {
	for _, d := range Defs() {
		in, out := d.Inputs(), d.Outputs()
		names := map[string]bool{}
		for _, a := range slices.Concat(in, out) {
			if a.TypeAttr == "" && a.Type == tensor.Invalid {
				t.Errorf("%s: %s has no type", d.Name, a.Name)
			}
			if a.TypeAttr == strings.ToLower(a.TypeAttr) && len(a.TypeAttr) > 4 && strings.ContainsAny(a.TypeAttr, "0123456789") {
				t.Errorf("%s: %s is of type %s, which looks like an unknown element type", d.Name, a.Name, a.TypeAttr)
			}
		}
		for _, a := range d.Attrs() {
			if names[a.Name] {
				t.Errorf("%s: two attributes %s", d.Name, a.Name)
			}
			names[a.Name] = true
		}
		if d.Shape == Broadcast && (len(in) != 2 || len(out) != 1) || d.Shape == SameShape && (len(in) == 0 || len(out) != 1) {
			t.Errorf("%s: its shape rule does not fit %d inputs and %d outputs", d.Name, len(in), len(out))
		}
		if e := d.Element; e.Float != nil && (len(in) != 1 || d.Shape != SameShape || e.CUDA != "" && e.Kinds != "f") {
			t.Errorf("%s: a function of one float does not fit", d.Name)
		}
		for i := range in {
			if e := d.Element; e.CUDA != "" && e.CUDA != "0" && e.CUDA != "1" && !strings.Contains(e.CUDA, "%"+string(rune('1'+i))) {
				t.Errorf("%s: %q leaves input %d out", d.Name, e.CUDA, i)
			}
		}
	}
}

// TestWrongDefinitions: a wrong definition panics when it is defined, or when it is first parsed.
func TestWrongDefinitions(t *testing.T) {
	for _, text := range []string{"", "Foo", "Foo(x) -> y: T", "Foo(x: T often) -> y: T", "Foo(x: T"} {
		if !panics(func() { define(text).Inputs() }) {
			t.Errorf("%q is a definition", text)
		}
		delete(registry, "Foo")
	}
	if !panics(func() { define("Relu(x: T) -> y: T") }) {
		t.Error("Relu can be defined twice")
	}
	if !panics(func() { define("Foo(x: T) -> y: T", "T: {float33}").Attrs() }) {
		t.Error("float33 is a type")
	}
	delete(registry, "Foo")
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestArguments(t *testing.T) {
	d := ParseExample
	want := []Arg{{Name: "serialized", Type: tensor.String}, {Name: "names", Type: tensor.String}, {Name: "sparse_keys", Type: tensor.String, Count: "Nsparse"},
		{Name: "dense_keys", Type: tensor.String, Count: "Ndense"}, {Name: "dense_defaults", TypeAttr: "Tdense", List: true}}
	if got := d.Inputs(); !reflect.DeepEqual(got, want) {
		t.Errorf("inputs %+v, expected %+v", got, want)
	}
	if d.Arity() != -1 || d.Results() != -1 || Relu.Arity() != 1 || Split.Results() != -1 {
		t.Error("wrong numbers of inputs or outputs")
	}
	if !Assign.Inputs()[0].Ref || !Assign.Inputs()[0].Resource() || Assign.Inputs()[1].Resource() {
		t.Error("Assign's reference is not found")
	}
}

// TestInputAt: operands before and after an input of many tensors are found.
func TestInputAt(t *testing.T) {
	for _, c := range []struct {
		d    *Def
		k, n int
		want string
	}{
		{ConcatV2, 0, 4, "values"}, {ConcatV2, 2, 4, "values"}, {ConcatV2, 3, 4, "axis"}, {ConcatV2, 4, 4, ""},
		{Concat, 0, 3, "concat_dim"}, {Concat, 2, 3, "values"}, {Slice, 2, 3, "size"}, {Slice, 3, 4, ""}, {Slice, -1, 3, ""},
	} {
		if got := c.d.InputAt(c.k, c.n).Name; got != c.want {
			t.Errorf("%s: input %d of %d is %q, expected %q", c.d.Name, c.k, c.n, got, c.want)
		}
	}
}

func TestUpdate(t *testing.T) {
	for _, c := range []struct {
		d    *Def
		want Update
		ok   bool
	}{
		{ResourceApplyGradientDescent, Update{1, 2, -1, []int{1}, 3}, true},
		{ResourceApplyAdam, Update{3, 9, -1, []int{3, 4, 5, 6, 7, 8}, 10}, true},
		{ResourceSparseApplyFtrlV2, Update{3, 3, 4, []int{5, 6, 7, 8, 9}, 10}, true},
		{ResourceScatterAdd, Update{1, 2, 1, nil, 3}, true},
		{AssignVariableOp, Update{1, -1, -1, []int{1}, 2}, false},
	} {
		if got, ok := c.d.Update(); ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v %v, expected %+v", c.d.Name, got, ok, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	if ArgMax.DefaultType("output_type") != tensor.Int64 || Relu.DefaultType("T") != tensor.Invalid || Relu.DefaultType("U") != tensor.Invalid {
		t.Error("wrong default types")
	}
	a := Conv2D.Attrs()
	at := slices.IndexFunc(a, func(a Attr) bool { return a.Name == "padding" })
	if at < 0 || a[at].Kind != "string" || !slices.Equal(a[at].Values, []string{"SAME", "VALID", "EXPLICIT"}) {
		t.Errorf("Conv2D: attributes %+v", a)
	}
}

// TestOnResource: ops on reference variables, and no others, have a counterpart on resource variables.
func TestOnResource(t *testing.T) {
	want := map[string]string{
		"Assign": "AssignVariableOp", "AssignAdd": "AssignAddVariableOp", "AssignSub": "AssignSubVariableOp",
		"ScatterAdd": "ResourceScatterAdd", "ScatterSub": "ResourceScatterSub", "ScatterUpdate": "ResourceScatterUpdate",
		"ScatterMul": "ResourceScatterMul", "ScatterDiv": "ResourceScatterDiv", "ScatterMin": "ResourceScatterMin", "ScatterMax": "ResourceScatterMax",
		"ScatterNdAdd": "ResourceScatterNdAdd", "ScatterNdSub": "ResourceScatterNdSub", "ScatterNdUpdate": "ResourceScatterNdUpdate",
		"ScatterNdMin": "ResourceScatterNdMin", "ScatterNdMax": "ResourceScatterNdMax",
		"StridedSliceAssign": "ResourceStridedSliceAssign",
	}
	for _, d := range Defs() {
		got := ""
		if on := d.OnResource(); on != nil {
			got = on.Name
		}
		if got != want[d.Name] {
			t.Errorf("%s: got %q, expected %q", d.Name, got, want[d.Name])
		}
	}
}

// TestTypes: attributes and result types follow from the types of inputs. All inputs of a list have one type.
func TestTypes(t *testing.T) {
	attrs := map[string]any{}
	out, err := Pack.Types(attrs, []tensor.DType{tensor.Int32, tensor.Int32})
	if err != nil || !slices.Equal(out, []tensor.DType{tensor.Int32}) || attrs["N"] != int64(2) || attrs["T"] != tensor.Int32 {
		t.Errorf("got %v, %v, %v", out, attrs, err)
	}
	if _, err := Pack.Types(map[string]any{}, []tensor.DType{tensor.Int32, tensor.Float32}); err == nil {
		t.Error("two types in one list passed")
	}
	attrs = map[string]any{}
	out, err = StringJoin.Types(attrs, []tensor.DType{tensor.String, tensor.String, tensor.String})
	if err != nil || !slices.Equal(out, []tensor.DType{tensor.String}) || len(attrs) != 1 || attrs["N"] != int64(3) {
		t.Errorf("got %v, %v, %v", out, attrs, err)
	}
	if _, err := Split.Types(map[string]any{"num_split": int64(MaxParts + 1)}, []tensor.DType{tensor.Int32, tensor.Float32}); err == nil {
		t.Errorf("more than %d results passed", MaxParts)
	}
}
