package weights

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// memory is a file of tensors in memory, whose element i is i.
func memory(t testing.TB, shapes map[string][]int) *File {
	t.Helper()
	f := &File{path: "memory"}
	var list []tensorfile.Entry
	for name, shape := range shapes {
		x := tensor.New(tensor.Float32, shape...)
		for i := range tensor.Values[float32](x) {
			tensor.Values[float32](x)[i] = float32(i)
		}
		list = append(list, tensorfile.Entry{Name: name, DType: x.DType, Shape: shape, Load: func() (*tensor.Tensor, error) { return x.Clone(), nil }})
	}
	if err := f.add(list); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLayouts(t *testing.T) {
	f := memory(t, map[string][]int{"linear": {2, 3}, "conv": {2, 1, 1, 3}, "depthwise": {4, 1, 1, 2}, "up": {2, 3, 1, 1},
		"lstm.weight_ih_l0": {4, 2}, "lstm.bias_ih_l0": {4}, "lstm.bias_hh_l0": {4},
		"gru.weight_ih_l0": {3, 2}, "gru.bias_ih_l0": {3}, "gru.bias_hh_l0": {3}, "wide": {2, 3, 4},
		"query": {4, 3}, "output": {3, 4}})
	for _, c := range []struct {
		from, layout, to string
		perm, shape      []int
		want             []float32
	}{
		{"linear", "torch", "dense/kernel", nil, []int{3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"linear", "torch", "embedding/table", nil, []int{2, 3}, []float32{0, 1, 2, 3, 4, 5}},
		{"query", "torch", "attention/query/kernel", nil, []int{3, 2, 2}, []float32{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}},
		{"output", "torch", "attention/attention_output/kernel", nil, []int{2, 2, 3}, []float32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"lstm.bias_ih_l0", "torch", "attention/query/bias", nil, []int{2, 2}, []float32{0, 1, 2, 3}},
		{"linear", "", "x", []int{1, 0}, []int{3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"conv", "torch", "conv2d/kernel", nil, []int{1, 3, 1, 2}, []float32{0, 3, 1, 4, 2, 5}},
		// Filter c*2+j of [4, 1, 1, 2] is channel c's j.
		{"depthwise", "torch", "d/depthwise_kernel", nil, []int{1, 2, 2, 2}, []float32{0, 2, 4, 6, 1, 3, 5, 7}},
		{"up", "torch_conv_transpose", "u/kernel", nil, []int{1, 1, 3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"lstm.weight_ih_l0", "torch_lstm", "lstm_cell/kernel", nil, []int{2, 4}, []float32{0, 2, 4, 6, 1, 3, 5, 7}},
		{"lstm.bias_ih_l0", "torch_lstm", "lstm_cell/bias", nil, []int{4}, []float32{0, 2, 4, 6}},
		{"gru.weight_ih_l0", "torch_gru", "gru_cell/kernel", nil, []int{2, 3}, []float32{2, 0, 4, 3, 1, 5}},
		{"gru.bias_ih_l0", "torch_gru", "gru_cell/bias", nil, []int{2, 3}, []float32{1, 0, 2, 1, 0, 2}},
		{"wide", "", "x", []int{2, 0, 1}, []int{4, 2, 3}, []float32{0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}},
	} {
		got, err := f.Value(Source{Name: c.from, Layout: c.layout, Transpose: c.perm}, Target{c.to, tensor.Float32, c.shape})
		if err != nil {
			t.Errorf("%s as %s: %v", c.from, c.to, err)
			continue
		}
		if !slices.Equal(got.Shape, c.shape) || !slices.Equal(tensor.Values[float32](got), c.want) {
			t.Errorf("%s as %s: got %v %v, expected %v %v", c.from, c.to, got.Shape, tensor.Values[float32](got), c.shape, c.want)
		}
	}
}

// TestFlattened: PyTorch flattens an image channel by channel; here each pixel keeps its channels together.
func TestFlattened(t *testing.T) {
	f := memory(t, map[string][]int{"fc.weight": {2, 12}, "one.weight": {1, 6}})
	source := func(name string, shape ...int) Source { return Source{Name: name, Layout: "torch", Flattened: shape} }
	got, err := f.Value(source("fc.weight", 3, 2, 2), Target{"dense/kernel", tensor.Float32, []int{12, 2}})
	if err != nil {
		t.Fatal(err)
	}
	var want []float32
	for pixel := range 4 {
		for channel := range 3 {
			input := float32(channel*4 + pixel)
			want = append(want, input, 12+input)
		}
	}
	if !slices.Equal(got.Shape, []int{12, 2}) || !slices.Equal(tensor.Values[float32](got), want) {
		t.Errorf("got %v %v, expected %v", got.Shape, tensor.Values[float32](got), want)
	}
	got, err = f.Value(source("one.weight", 2, 3), Target{"dense/kernel", tensor.Float32, []int{6, 1}})
	if err != nil || !slices.Equal(tensor.Values[float32](got), []float32{0, 3, 1, 4, 2, 5}) {
		t.Errorf("a sequence: got %v, %v", got, err)
	}
	if _, err := f.Value(source("fc.weight", 3, 2), Target{"dense/kernel", tensor.Float32, []int{12, 2}}); err == nil || !strings.Contains(err.Error(), "expected a kernel [6, units] for flattened [3 2]") {
		t.Errorf("another shape: %v", err)
	}
	bias := Target{"dense/bias", tensor.Float32, []int{2, 12}}
	if got, err := f.Value(source("fc.weight", 3, 2, 2), bias); err != nil || tensor.Values[float32](got)[1] != 1 {
		t.Errorf("what is no kernel stays: %v, %v", got, err)
	}
}

func TestValueErrors(t *testing.T) {
	f := memory(t, map[string][]int{"a": {2, 3}, "one": {}, "lstm.bias_ih_l0": {4}, "gru.bias_ih_l0": {4}, "gru.bias_hh_l0": {4}, "bias": {4}})
	for _, c := range []struct {
		from, layout, to string
		perm, shape      []int
		dtype            tensor.DType
		want             string
	}{
		{"a", "", "v", nil, []int{3, 2}, tensor.Float32, "variable v: expected float32[3 2], got float32[2 3] of the tensor a"},
		{"a", "torch", "v/kernel", nil, []int{2, 3}, tensor.Float32, "which the rule makes [3 2]"},
		{"a", "", "v", nil, []int{2, 3}, tensor.Int32, "expected int32[2 3], got float32[2 3]"},
		{"a", "", "v", []int{0, 2, 1}, []int{2, 3}, tensor.Float32, "expected 2 of them"},
		{"a", "torch", "v/kernel", nil, []int{3, 2, 2}, tensor.Float32, "which the rule makes [3 2]"},
		{"one", "torch", "v/kernel", nil, []int{2, 3}, tensor.Float32, "dimensions [1 0]"},
		{"one", "torch", "v/depthwise_kernel", nil, []int{2}, tensor.Float32, "expected [rows, columns, channels, multiplier]"},
		{"lstm.bias_ih_l0", "torch_lstm", "v/bias", nil, []int{4}, tensor.Float32, "lstm.bias_hh_l0"},
		{"bias", "torch_lstm", "v/bias", nil, []int{4}, tensor.Float32, "expected a name with bias_ih"},
		{"gru.bias_ih_l0", "torch_gru", "v/bias", nil, []int{2, 4}, tensor.Float32, "expected those of 3 gates"},
		{"gru.bias_ih_l0", "torch_gru", "v/bias", nil, []int{4}, tensor.Float32, "expected [2, gates*units]"},
		{"gru.bias_ih_l0", "torch_gru", "v/bias", nil, nil, tensor.Float32, "is a number"},
	} {
		_, err := f.Value(Source{Name: c.from, Layout: c.layout, Transpose: c.perm}, Target{c.to, c.dtype, c.shape})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: got %v, expected %q", c.from, c.to, err, c.want)
		}
	}
	if _, err := f.Value(Source{Name: "none", Layout: "torch"}, Target{"v", tensor.Float32, nil}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing tensor: %v", err)
	}
}

// TestConvertible: only casts without loss of range are allowed.
func TestConvertible(t *testing.T) {
	for _, c := range []struct {
		from, to tensor.DType
		ok       bool
	}{
		{tensor.BFloat16, tensor.Float32, true}, {tensor.Float16, tensor.Float64, true}, {tensor.Float64, tensor.Float32, true},
		{tensor.Float32, tensor.BFloat16, true}, {tensor.Int8, tensor.Int64, true}, {tensor.Uint8, tensor.Int32, true},
		{tensor.Int8, tensor.Uint16, false}, {tensor.Int64, tensor.Int32, false}, {tensor.Float32, tensor.Int32, false},
		{tensor.Int32, tensor.Float32, false}, {tensor.Bool, tensor.Int32, false}, {tensor.Bool, tensor.Bool, true},
	} {
		if got := convertible(c.from, c.to); got != c.ok {
			t.Errorf("%v to %v: %v", c.from, c.to, got)
		}
		if c.ok {
			one := tensor.New(c.from, 2)
			got, err := cast(one, c.to)
			if err != nil || got.DType != c.to || got.Len() != 2 {
				t.Errorf("%v to %v: %v, %v", c.from, c.to, got, err)
			}
		}
	}
}

func TestRules(t *testing.T) {
	m, err := NewMapping([]Rule{{Name: "head/.*", Skip: true}, {Name: `(?P<layer>.*)/kernel`, Previous: "net.${layer}.weight", Layout: "torch", Flattened: []int{4, 2}}, {Name: "b.*", Transpose: []int{1, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Source{
		"head/kernel":  {Name: "head/kernel", Skip: true},
		"fc/kernel":    {Name: "net.fc.weight", Layout: "torch", Flattened: []int{4, 2}, Rule: 1},
		"fc/kernel/m":  {Name: "fc/kernel/m", Rule: -1}, // the whole name has to match
		"x/head/other": {Name: "x/head/other", Rule: -1},
		"bias":         {Name: "bias", Transpose: []int{1, 0}, Rule: 2},
	} {
		got := m.Source(name)
		if got.Name != want.Name || got.Layout != want.Layout || got.Skip != want.Skip || got.Rule != want.Rule || !slices.Equal(got.Transpose, want.Transpose) || !slices.Equal(got.Flattened, want.Flattened) {
			t.Errorf("%s: got %+v, expected %+v", name, got, want)
		}
	}
	for want, r := range map[string]Rule{
		`name: got ""`:        {},
		`name: got "("`:       {Name: "("},
		"skip: got true":      {Name: "a", Skip: true, Previous: "b"},
		`layout: got "x"`:     {Name: "a", Layout: "x"},
		"transpose: got [0]":  {Name: "a", Layout: "torch", Transpose: []int{0}},
		"transpose: got [0 2": {Name: "a", Transpose: []int{0, 2}},
		"flattened: got [4 2": {Name: "a", Flattened: []int{4, 2}},
		"flattened: got [12]": {Name: "a", Layout: "torch", Flattened: []int{12}},
		"flattened: got [4 0": {Name: "a", Layout: "torch", Flattened: []int{4, 0}},
	} {
		_, err := NewMapping([]Rule{r})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", r, err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	f := memory(t, map[string][]int{"dense/kernel": {4}, "dense_1/kernel": {2, 3}, "conv/kernel": {3, 2}, "other": {2, 3}})
	got := Nearest("dense/kernal", []int{2, 3}, f.List())
	if want := []string{"dense_1/kernel [2 3]", "conv/kernel [3 2]", "other [2 3]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}
