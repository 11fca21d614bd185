package onnx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/proto"
)

// sample returns a model with all kinds of attributes.
func sample(t testing.TB) *Model {
	t.Helper()
	weights, err := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	inner := &Graph{Name: "inner", Outputs: []Value{{Name: "z", DType: tensor.Int64, Dims: []Dim{{Size: 3}}}}}
	return &Model{IR: 9, Producer: "p", Opsets: map[string]int{"": 17, "local": 1}, Metadata: map[string]string{"k": "v"},
		Graph: Graph{Name: "g", Inputs: []Value{{Name: "x", DType: tensor.Float32, Dims: []Dim{{Symbol: "batch"}, {Size: 2}, {Size: -1}}}},
			Outputs: []Value{{Name: "y", DType: tensor.String, Unranked: true}}, Initializers: []Initializer{{"w", weights}},
			Nodes: []Node{{Op: "F", Domain: "local", Name: "n", Inputs: []string{"x", ""}, Outputs: []string{"y"},
				Attrs: map[string]any{"i": 3, "is": []int{1, -1}, "f": float32(0.5), "fs": []float32{1, 2}, "s": "a", "ss": []string{"b", ""}, "t": weights, "g": inner}}}},
		Functions: []Function{{Domain: "local", Name: "F", Inputs: []string{"a"}, Outputs: []string{"b"}, Attrs: []string{"alpha"}, Defaults: map[string]any{"beta": 2}, Opsets: map[string]int{"": 17},
			Nodes: []Node{{Op: "Identity", Inputs: []string{"a"}, Outputs: []string{"b"}, Attrs: map[string]any{"q": AttrRef("alpha")}}}}}}
}

func TestReadsWhatItWrites(t *testing.T) {
	m := sample(t)
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got  %+v\nexpected %+v", got, m)
	}
}

// tensorOf returns the message of a tensor.
func tensorOf(typ TensorProto_DataType, dims ...int64) *TensorProto {
	return &TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(typ)), Dims: dims}
}

func TestElementsInLists(t *testing.T) {
	for _, c := range []struct {
		p    *TensorProto
		want []float64
	}{
		{&TensorProto{FloatData: []float32{1.5, -2}, DataType: proto.Int32(1), Dims: []int64{2}}, []float64{1.5, -2}},
		{&TensorProto{Int32Data: []int32{-1, 255}, DataType: proto.Int32(int32(TensorProto_UINT8)), Dims: []int64{2}}, []float64{255, 255}},
		{&TensorProto{Int32Data: []int32{0x3c00, 0xc000}, DataType: proto.Int32(int32(TensorProto_FLOAT16)), Dims: []int64{2}}, []float64{1, -2}},
		{&TensorProto{Int32Data: []int32{0, 5}, DataType: proto.Int32(int32(TensorProto_BOOL)), Dims: []int64{2}}, []float64{0, 1}},
		{&TensorProto{Int64Data: []int64{-7}, DataType: proto.Int32(int32(TensorProto_INT64))}, []float64{-7}},
		{&TensorProto{Uint64Data: []uint64{7}, DataType: proto.Int32(int32(TensorProto_UINT32)), Dims: []int64{1}}, []float64{7}},
		{&TensorProto{DoubleData: []float64{0.1}, DataType: proto.Int32(int32(TensorProto_DOUBLE)), Dims: []int64{1}}, []float64{0.1}},
		{&TensorProto{DataType: proto.Int32(1), Dims: []int64{0, 3}}, nil},
	} {
		data, err := proto.Marshal(c.p)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := UnmarshalTensor(data)
		if err != nil || got.Len() != len(c.want) {
			t.Errorf("%v: got %v, %v", c.p, got, err)
			continue
		}
		for i, v := range c.want {
			if got.Float(i) != v {
				t.Errorf("%v: got %v, expected %v", c.p, got.Float(i), v)
			}
		}
	}
}

func TestRefusesTensors(t *testing.T) {
	few, raw, text := tensorOf(TensorProto_FLOAT, 3), tensorOf(TensorProto_FLOAT, 2), tensorOf(TensorProto_STRING, 2)
	few.FloatData, raw.RawData, text.StringData = []float32{1}, []byte{1, 2, 3}, [][]byte{{}}
	for want, p := range map[string]*TensorProto{
		"1 numbers for float32 of shape [3]": few, "3 bytes for float32 of shape [2]": raw, "1 strings for shape [2]": text,
		"is too large": tensorOf(TensorProto_FLOAT, 1<<40, 1<<40), "no negative size": tensorOf(TensorProto_FLOAT, -1), "FLOAT8E5M2 (19) is not supported": tensorOf(TensorProto_FLOAT8E5M2, 1),
		"0 numbers for float32 of shape [1000000]": tensorOf(TensorProto_FLOAT, 1000000), "expected at most 64": tensorOf(TensorProto_FLOAT, make([]int64, 65)...),
	} {
		data, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := UnmarshalTensor(data); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q in it", err, want)
		}
	}
}

func TestRefusesModels(t *testing.T) {
	deep := &GraphProto{}
	for range maxDepth {
		deep = &GraphProto{Node: []*NodeProto{{Attribute: []*AttributeProto{{Name: proto.String("g"), G: deep, Type: AttributeProto_GRAPH.Enum()}}}}}
	}
	twice := []*AttributeProto{{Name: proto.String("a"), I: proto.Int64(1)}, {Name: proto.String("a"), I: proto.Int64(2)}}
	ir := proto.Int64(8)
	for want, p := range map[string]*ModelProto{
		"version 0 of the format": {}, "version 99 of the format": {IrVersion: proto.Int64(99)}, "no graph": {IrVersion: ir}, "graphs within graphs": {IrVersion: ir, Graph: deep},
		"is there twice":              {IrVersion: ir, Graph: &GraphProto{Node: []*NodeProto{{Attribute: twice}}}},
		"its tensor is missing":       {IrVersion: ir, Graph: &GraphProto{Node: []*NodeProto{{Attribute: []*AttributeProto{{Type: AttributeProto_TENSOR.Enum()}}}}}},
		"version -1 of the operators": {IrVersion: ir, Graph: &GraphProto{}, OpsetImport: []*OperatorSetIdProto{{Version: proto.Int64(-1)}}},
		"in a file beside the model":  {IrVersion: ir, Graph: &GraphProto{Initializer: []*TensorProto{{DataType: proto.Int32(1), DataLocation: TensorProto_EXTERNAL.Enum()}}}},
	} {
		data, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Unmarshal(data); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q in it", err, want)
		}
	}
	if _, err := Unmarshal([]byte("\xff\xff\xff")); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// external writes a model with weights in a file, as described by entries.
func external(t *testing.T, dir string, entries map[string]string) error {
	t.Helper()
	w := tensorOf(TensorProto_FLOAT, 2)
	w.DataLocation = TensorProto_EXTERNAL.Enum()
	for k, v := range entries {
		w.ExternalData = append(w.ExternalData, &StringStringEntryProto{Key: &k, Value: &v})
	}
	data, err := proto.Marshal(&ModelProto{IrVersion: proto.Int64(8), Graph: &GraphProto{Initializer: []*TensorProto{w, w, w}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, File), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(dir)
	if err == nil && (m.Graph.Initializers[0].Tensor.Float(1) != 2 || &m.Graph.Initializers[0].Tensor.Bytes[0] != &m.Graph.Initializers[2].Tensor.Bytes[0]) {
		t.Errorf("%v: got %v; three tensors of the same bytes share them", entries, m.Graph.Initializers[0].Tensor)
	}
	return err
}

func TestExternalData(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "1")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	bytes := "\x00\x00\x80\x3f\x00\x00\x00\x40" // 1, 2
	for name, data := range map[string]string{"1/w": bytes, "1/sub/w": "head" + bytes, "outside": bytes, "1/short": bytes[:7]} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "outside"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, good := range []map[string]string{{"location": "w"}, {"location": "sub/w", "offset": "4", "length": "8"}} {
		if err := external(t, dir, good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for want, bad := range map[string]map[string]string{
		"expected one in the model's folder": {"location": "../outside"}, "escapes": {"location": "link"}, "bytes 0 to 8 of short, which has 7": {"location": "short"},
		"external data of 4 bytes: expected 8": {"location": "w", "length": "4"}, "expected a number": {"location": "w", "offset": "x"}, "expected a file": {"location": "sub"},
		"bytes 9223372036854775807": {"location": "w", "offset": "9223372036854775807"}, "no such file": {"location": "none"},
	} {
		if err := external(t, dir, bad); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %q in it", bad, err, want)
		}
	}
	if _, err := Read(top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// FuzzUnmarshal: a model that can be read can be written and is then read the same.
func FuzzUnmarshal(f *testing.F) {
	data, err := sample(f).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Unmarshal(data)
		if err != nil {
			return
		}
		again, err := m.Marshal()
		if err != nil { // types that cannot be written
			return
		}
		if _, err := Unmarshal(again); err != nil {
			t.Fatal(err)
		}
	})
}

// TestElementsOfFourBits reads them from raw bytes and from a list, the lower half of a byte first, including an odd number of them.
func TestElementsOfFourBits(t *testing.T) {
	for typ, want := range map[TensorProto_DataType][]float64{TensorProto_INT4: {1, -8, -1}, TensorProto_UINT4: {1, 8, 15}} {
		for name, p := range map[string]*TensorProto{"raw": {RawData: []byte{0x81, 0xff}}, "list": {Int32Data: []int32{0x81, 0xff}}} {
			number := int32(typ)
			p.DataType, p.Dims = &number, []int64{3}
			data, err := proto.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			_, got, err := UnmarshalTensor(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range want {
				v := float64(got.Bytes[i])
				if typ == TensorProto_INT4 {
					v = float64(int8(got.Bytes[i]))
				}
				if v != w {
					t.Errorf("%s %v: element %d: got %v, expected %v", name, typ, i, v, w)
				}
			}
			p.Dims = []int64{5}
			if data, err = proto.Marshal(p); err != nil {
				t.Fatal(err)
			}
			if _, _, err := UnmarshalTensor(data); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "2 bytes for") {
				t.Errorf("%s %v: five elements of two bytes: got %v", name, typ, err)
			}
		}
	}
}
