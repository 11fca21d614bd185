package wire

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"
)

// drawTensors draws tensors of all forms, small and large.
func drawTensors(t *rapid.T) map[string]*tensor_go_proto.TensorProto {
	return rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) *tensor_go_proto.TensorProto {
		p := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType(rapid.IntRange(0, 23).Draw(t, "type"))}
		if rapid.Bool().Draw(t, "has shape") {
			p.TensorShape = &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: rapid.Int64().Draw(t, "dim")}, {Name: "d"}}}
		}
		n := rapid.SampledFrom([]int{0, 1, 3, small / 8, small/4 + 1, small + 5}).Draw(t, "n")
		switch rapid.IntRange(0, 6).Draw(t, "form") {
		case 0:
			p.TensorContent = make([]byte, n)
		case 1:
			p.FloatVal = make([]float32, n)
			for i := range p.FloatVal {
				p.FloatVal[i] = float32(i)
			}
		case 2:
			p.DoubleVal = make([]float64, n)
			for i := range p.DoubleVal {
				p.DoubleVal[i] = math.Sqrt(float64(i))
			}
		case 3:
			p.Int64Val = make([]int64, n)
			p.FloatVal = []float32{1}
		case 4:
			p.StringVal = make([][]byte, n)
		case 5:
			p.FloatVal, p.DoubleVal = make([]float32, n), make([]float64, n)
		}
		return p
	}), 0, 4).Draw(t, "tensors")
}

// split cuts bytes into buffers, as a transport does.
func split(t *rapid.T, b []byte) (out mem.BufferSlice) {
	for len(b) > 0 {
		n := min(len(b), rapid.SampledFrom([]int{1, 7, 100, 1 << 14}).Draw(t, "buffer"))
		out = append(out, mem.SliceBuffer(b[:n]))
		b = b[n:]
	}
	return out
}

func TestTensorsAreTheSameBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m, ours, theirs proto.Message = &apis.PredictRequest{Inputs: drawTensors(t), OutputFilter: []string{"a", "b"}, ModelSpec: &apis.ModelSpec{Name: "m"}}, &apis.PredictRequest{}, &apis.PredictRequest{}
		if rapid.Bool().Draw(t, "response") {
			m, ours, theirs = &apis.PredictResponse{Outputs: drawTensors(t), ModelSpec: &apis.ModelSpec{VersionChoice: &apis.ModelSpec_Version{Version: wrapperspb.Int64(2)}}}, &apis.PredictResponse{}, &apis.PredictResponse{}
		}
		m.ProtoReflect().SetUnknown([]byte{0xf8, 0x07, 1}) // field 127
		sent, err := Codec{}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b := sent.Materialize()
		if err := proto.Unmarshal(b, theirs); err != nil {
			t.Fatal(err)
		}
		if err := (Codec{}).Unmarshal(split(t, b), ours); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(m, theirs) {
			t.Fatalf("written: %s", cmp.Diff(m, theirs, protocmp.Transform()))
		}
		if !proto.Equal(m, ours) {
			t.Fatalf("read: %s", cmp.Diff(m, ours, protocmp.Transform()))
		}
	})
}

func TestLargeTensorsAreNotCopiedWhenWritten(t *testing.T) {
	x := make([]float32, 1<<16)
	out, err := Codec{}.Marshal(&apis.PredictResponse{Outputs: map[string]*tensor_go_proto.TensorProto{"y": {FloatVal: x}}})
	if err != nil {
		t.Fatal(err)
	}
	shared := false
	for _, b := range out {
		shared = shared || &b.ReadOnlyData()[0] == &bytesOf(x)[0]
	}
	if !shared {
		t.Error("the values lie elsewhere")
	}
}

func examples() []*ex.Example {
	f := &ex.Feature{Kind: &ex.Feature_Int64List{Int64List: &ex.Int64List{Value: []int64{7}}}}
	return []*ex.Example{{Features: &ex.Features{Feature: map[string]*ex.Feature{"a": f}}}, {}, {Features: &ex.Features{}}}
}

func TestExamplesStaySerialized(t *testing.T) {
	for name, in := range map[string]*apis.Input{
		"list":    {Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: examples()}}},
		"context": {Kind: &apis.Input_ExampleListWithContext{ExampleListWithContext: &apis.ExampleListWithContext{Examples: examples(), Context: examples()[0]}}},
		"empty":   {Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{}}},
		"none":    {},
	} {
		for _, m := range []proto.Message{&apis.ClassificationRequest{Input: in, ModelSpec: &apis.ModelSpec{Name: "m"}}, &apis.RegressionRequest{Input: in},
			&apis.MultiInferenceRequest{Input: in, Tasks: []*apis.InferenceTask{{MethodName: "x"}}}} {
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			got := m.ProtoReflect().New().Interface()
			if err := (Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, got); err != nil {
				t.Fatal(err)
			}
			have, err := ExamplesOf(*inputOf(got), nil)
			if err != nil || (*inputOf(got)).GetKind() != nil && name != "none" && name != "empty" {
				t.Fatalf("%s: read as objects: %v", name, err)
			}
			made, err := ExamplesOf(in, nil)
			if err != nil || string(have.Context) != string(made.Context) || (len(have.Context) > 0) != (name == "context") || len(have.Serialized) != len(made.Serialized) {
				t.Errorf("%s: %q, expected %q: %v", name, have, made, err)
			}
			for i, e := range have.Serialized {
				want, err := proto.Marshal(examples()[i])
				if err != nil || string(e) != string(want) || string(made.Serialized[i]) != string(want) {
					t.Errorf("%s: example %d is %q: %v", name, i, e, err)
				}
			}
			if len(have.Serialized) > 0 {
				again, err := proto.Marshal(have.Input())
				if err != nil {
					t.Fatal(err)
				}
				back := &apis.Input{}
				if err := proto.Unmarshal(again, back); err != nil || !proto.Equal(back, in) {
					t.Errorf("%s: became %v: %v", name, back, err)
				}
			}
			again, err := proto.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			back := m.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(again, back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, back, protocmp.Transform()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Tensors that are read in place are equal to the ordinary codec's.
func FuzzTensors(f *testing.F) {
	r := &apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: "m"}, Inputs: map[string]*tensor_go_proto.TensorProto{
		"a": {Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: []float32{1, 2}}, "b": {TensorContent: []byte("abc"), DoubleVal: []float64{1}}}}
	b, err := proto.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(append(b, b...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, want := &apis.PredictRequest{}, &apis.PredictRequest{}
		if !unmarshalTensors(mem.BufferSlice{mem.SliceBuffer(b)}, got, &got.Inputs, 2) {
			return
		}
		if err := proto.Unmarshal(b, want); err != nil {
			t.Fatalf("%v was read as %v", err, got)
		}
		if !equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}

// equal compares known fields by their bytes: NaN differs from itself, and unknown fields have more than one
// encoding.
func equal(a, b proto.Message) bool {
	known := func(m proto.Message) string {
		x, err := proto.Marshal(m)
		if err != nil {
			return err.Error()
		}
		m = m.ProtoReflect().New().Interface()
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(x, m); err != nil {
			return err.Error()
		}
		x, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return err.Error()
		}
		return string(x)
	}
	return known(a) == known(b)
}

// Examples that the ordinary codec can read are the same.
func FuzzExamples(f *testing.F) {
	for _, in := range []*apis.Input{
		{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: examples()}}},
		{Kind: &apis.Input_ExampleListWithContext{ExampleListWithContext: &apis.ExampleListWithContext{Examples: examples(), Context: examples()[0]}}}} {
		b, err := proto.Marshal(&apis.ClassificationRequest{Input: in, ModelSpec: &apis.ModelSpec{Name: "m"}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, want := &apis.ClassificationRequest{}, &apis.ClassificationRequest{}
		if !unmarshalExamples(mem.BufferSlice{mem.SliceBuffer(b)}, got, &got.Input) || proto.Unmarshal(b, want) != nil {
			return
		}
		again, err := proto.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		back := &apis.ClassificationRequest{}
		if err := proto.Unmarshal(again, back); err != nil || !equal(back, want) {
			t.Errorf("%v: got %v\nwant %v", err, back, want)
		}
	})
}
