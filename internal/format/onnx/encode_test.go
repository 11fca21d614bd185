package onnx

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/proto"
)

func TestAttributes(t *testing.T) {
	// Bytes as Python's onnx.helper.make_attribute serializes them.
	for _, c := range []struct {
		v    any
		want string
	}{
		{3, "\n\x01a\x18\x03\xa0\x01\x02"},
		{float32(0.5), "\n\x01a\x15\x00\x00\x00?\xa0\x01\x01"},
		{"s", "\n\x01a\"\x01s\xa0\x01\x03"},
		{[]int{1, -1}, "\n\x01a@\x01@\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x07"},
	} {
		a, err := attributeMessage("a", c.v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := proto.Marshal(a)
		if err != nil || string(got) != c.want {
			t.Errorf("%v: got %q, %v, expected %q", c.v, got, err, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, m := range map[string]Model{
		"no form for a bool": {Graph: Graph{Nodes: []Node{{Op: "X", Name: "x", Attrs: map[string]any{"a": true}}}}},
		"no element type":    {Graph: Graph{Inputs: []Value{{Name: "x", DType: tensor.Resource}}}},
		"initializer":        {Graph: Graph{Initializers: []Initializer{{"x", &tensor.Tensor{DType: tensor.Variant}}}}},
	} {
		if _, err := m.Marshal(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, expected %q in it", err, name)
		}
	}
}

func TestEqualModelsGiveEqualBytes(t *testing.T) {
	m := Model{Metadata: map[string]string{"a": "1", "b": "2", "c": "3"}, Graph: Graph{Nodes: []Node{{Op: "X", Attrs: map[string]any{"p": 1, "q": 2, "r": "s"}}}}}
	first, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if again, _ := m.Marshal(); !bytes.Equal(first, again) {
			t.Fatal("the bytes differ")
		}
	}
}
