package codec

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// messages are empty messages of all kinds that have tensors.
func messages() []proto.Message {
	return []proto.Message{&rpcs.RecvTensorResponse{}, &rpcs.RunStepRequest{}, &rpcs.RunStepResponse{}, &rpcs.RunGraphRequest{}, &rpcs.RunGraphResponse{},
		&rpcs.RunCallableRequest{}, &rpcs.RunCallableResponse{}}
}

// raw is a tensor of n bytes.
func raw(n int) *tensor_go_proto.TensorProto {
	t := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_UINT8, TensorContent: make([]byte, n)}
	t.TensorShape = &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: int64(n)}}}
	for i := range t.TensorContent {
		t.TensorContent[i] = byte(i * 7)
	}
	return t
}

// fill gives all fields of a message values; tensor fields get the tensors in turn.
func fill(m proto.Message, tensors []*tensor_go_proto.TensorProto) {
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		f := r.Descriptor().Fields().Get(i)
		if f.Kind() == protoreflect.StringKind && f.IsList() {
			r.Mutable(f).List().Append(protoreflect.ValueOfString("a"))
			continue
		}
		switch f.Kind() {
		case protoreflect.StringKind:
			r.Set(f, protoreflect.ValueOfString(string(f.Name())))
		case protoreflect.Int64Kind:
			r.Set(f, protoreflect.ValueOfInt64(-1))
		case protoreflect.Int32Kind:
			r.Set(f, protoreflect.ValueOfInt32(12))
		case protoreflect.BoolKind:
			r.Set(f, protoreflect.ValueOfBool(true))
		default:
			if !f.IsList() {
				r.Set(f, r.NewField(f))
			}
		}
	}
	f, _ := tensorsOf(m)
	switch {
	case f.one != nil:
		*f.one = tensors[0]
	case f.repeated != nil:
		*f.repeated = tensors
	default:
		for i, t := range tensors {
			*f.named = append(*f.named, &for_core_protos_go_proto.NamedTensorProto{Name: string(rune('a' + i)), Tensor: t})
		}
	}
}

// chunked is a message as gRPC receives it, in buffers of n bytes.
func chunked(data []byte, n int) (all mem.BufferSlice) {
	for len(data) > 0 {
		k := min(n, len(data))
		all, data = append(all, mem.SliceBuffer(data[:k])), data[k:]
	}
	return all
}

// TestMessagesAreProtocolBuffers: others can read what the codec writes, and vice versa.
func TestMessagesAreProtocolBuffers(t *testing.T) {
	tensors := []*tensor_go_proto.TensorProto{raw(3 * large), {Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: []float32{1, 2}}, raw(large), raw(1)}
	for _, m := range messages() {
		fill(m, tensors)
		want := proto.Clone(m)
		data, err := Codec{}.Marshal(m)
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		if !proto.Equal(m, want) {
			t.Errorf("%T: Marshal changed it", m)
		}
		if shared := data[1].ReadOnlyData(); &shared[0] != &tensors[0].TensorContent[0] {
			t.Errorf("%T: the tensor was copied", m)
		}
		theirs := proto.Clone(m)
		proto.Reset(theirs)
		if err := proto.Unmarshal(data.Materialize(), theirs); err != nil || !proto.Equal(theirs, want) {
			t.Errorf("%T: others read something else: %v", m, err)
		}
		encoded, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 100, 16 << 10, len(encoded)} {
			ours := proto.Clone(m)
			if err := (Codec{}).Unmarshal(chunked(encoded, n), ours); err != nil || !proto.Equal(ours, want) {
				t.Errorf("%T in buffers of %d bytes: it reads something else: %v", m, n, err)
			}
		}
	}
}

// TestSmallMessagesAreLeft: gRPC's codec handles them.
func TestSmallMessagesAreLeft(t *testing.T) {
	m := &rpcs.RecvTensorResponse{Tensor: raw(8), IsDead: true}
	data, err := Codec{}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := &rpcs.RecvTensorResponse{}
	if err := (Codec{}).Unmarshal(data, out); err != nil || !proto.Equal(m, out) {
		t.Errorf("got %v, %v", out, err)
	}
	if (Codec{}).Name() != "proto" || encoding.GetCodecV2("proto") == nil {
		t.Error("the codec has another name than Protocol Buffers'")
	}
}

// FuzzUnmarshal: any bytes are an error or a message, the same as for Protocol Buffers.
func FuzzUnmarshal(f *testing.F) { f.Fuzz(rapid.MakeFuzz(readsAnything)) }

func TestAnythingIsRead(t *testing.T) { rapid.Check(t, readsAnything) }

func readsAnything(t *rapid.T) {
	m := rapid.SampledFrom(messages()).Draw(t, "message")
	fill(m, []*tensor_go_proto.TensorProto{raw(rapid.IntRange(large, 2*large).Draw(t, "size"))})
	data, err := Codec{}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	encoded := data.Materialize()
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		encoded[rapid.IntRange(0, min(200, len(encoded)-1)).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	encoded = encoded[:len(encoded)-rapid.SampledFrom([]int{0, 0, 0, 1, 100}).Draw(t, "cut")]
	ours, theirs := proto.Clone(m), proto.Clone(m)
	proto.Reset(theirs)
	err = Codec{}.Unmarshal(chunked(encoded, rapid.IntRange(1, 1000).Draw(t, "buffers")), ours)
	if err != nil {
		return // the codec may be stricter about groups and duplicate tensors
	}
	if err := proto.Unmarshal(encoded, theirs); err != nil {
		t.Fatalf("it reads what Protocol Buffers do not: %v", err)
	}
	a, err1 := proto.MarshalOptions{Deterministic: true}.Marshal(ours)
	b, err2 := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("it reads another message: %v, %v", err1, err2)
	}
}
