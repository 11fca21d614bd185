package eager

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/protobuf/proto"
)

// listMessage is TensorFlow 2.15's message for a list of three elements float[2, ?], where only the second is set, to ones.
const listMessage = "\n\x16tensorflow::TensorList\x12\x1f\x02\x00\x02\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02\x08\x02\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x16\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01*\x08\x00\x00\x80?\x00\x00\x80?"

// TestListWire: lists, also nested ones, are encoded as in TensorFlow, and read back.
func TestListWire(t *testing.T) {
	s := newSession(t)
	list := s.run("TensorListReserve", graph.Attrs{"element_dtype": tensor.Float32}, tensorOf([]int32{2, -1}, 2), tensor.Scalar(int32(3)))
	list = s.run("TensorListSetItem", nil, list, tensor.Scalar(int32(1)), tensorOf([]float32{1, 1}, 2, 1))
	outer := s.run("EmptyTensorList", graph.Attrs{"element_dtype": tensor.Variant}, tensor.Scalar(int32(-1)), tensor.Scalar(int32(5)))
	outer = s.run("TensorListPushBack", nil, outer, list)
	text := s.run("TensorListFromTensor", graph.Attrs{"element_dtype": tensor.String}, texts("a", "b"), tensorOf([]int32{}, 0))
	payer := Payer{Account: budget.NewServer(budget.Limits{Server: 1 << 20}).OpenLasting(), Lasting: true}
	for _, c := range []struct {
		v    Value
		want string
	}{
		{list, listMessage}, {text, ""},
		{outer, "\n\x16tensorflow::TensorList\x12\x05\x00\x15\x05\x18\x01\x1aW\x08\x15\x12\x00zQ"[:33]},
	} {
		x, err := payer.EncodeVariant(c.v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(x.Strings[0]); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, expected %q", got, c.want)
		}
		back, err := payer.DecodeVariant(x)
		if err != nil {
			t.Fatal(err)
		}
		again, err := payer.EncodeVariant(back)
		if err != nil || string(again.Strings[0]) != string(x.Strings[0]) {
			t.Errorf("read and written again: got %q, %v", again.Strings, err)
		}
	}
	back, err := payer.DecodeVariant(&tensor.Tensor{DType: tensor.Variant, Strings: [][]byte{[]byte(listMessage)}})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(s.run("TensorListStack", graph.Attrs{"element_dtype": tensor.Float32, "num_elements": int64(3)}, back, tensorOf([]int32{2, 1}, 2)), "float32[3 2 1] 0 0 1 1 0 0")
	if _, err := payer.EncodeVariant(Value{Resource: &optional{}}); err == nil {
		t.Error("an optional was encoded")
	}
}

// TestListWireHostile: invalid messages are refused, and so are lists that are too deep or much larger than their messages.
func TestListWireHostile(t *testing.T) {
	p := Payer{}
	try := func(b []byte) error {
		_, err := p.DecodeVariant(&tensor.Tensor{DType: tensor.Variant, Strings: [][]byte{b}})
		return err
	}
	for i := range len(listMessage) {
		b := []byte(listMessage)
		_ = try(b[:i])
		for _, flip := range []byte{1, 0x40, 0xff} {
			b[i] ^= flip
			_ = try(b) // it must not panic; memory is bounded by the message
			b[i] ^= flip
		}
	}
	large, err := hex.DecodeString("0a1674656e736f72666c6f773a3a54656e736f724c6973741204000101021a1008011209120308904e120308904e2a00")
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"another type":    []byte(strings.Replace(listMessage, "TensorList", "TensorMist", 1)),
		"few values":      large,
		"unset elements":  []byte("\n\x16tensorflow::TensorList\x12\x05\x01\x07\x01\x00\x00"),
		"no metadata":     []byte("\n\x16tensorflow::TensorList"),
		"a resource list": []byte("\n\x16tensorflow::TensorList\x12\x04\x00\x14\x00\x00"),
	} {
		if err := try(b); err == nil {
			t.Errorf("%s: read", what)
		}
	}
	s := newSession(t)
	list := s.run("TensorListReserve", graph.Attrs{"element_dtype": tensor.Variant}, tensorOf([]int32{}, 0), tensor.Scalar(int32(1)))
	deep, err := p.EncodeVariant(list)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDepth + 1 {
		b := deep.Strings[0]
		l := &tensorList{dtype: tensor.Variant, shape: []int{}, most: -1, n: 1, depth: 1, mu: list.Resource.(*tensorList).mu, all: []Value{{T: nil}}}
		if v, err := p.DecodeVariant(deep); err == nil {
			l.all[0] = v
		} else {
			return // as expected eventually
		}
		if deep, err = p.EncodeVariant(Value{Resource: l}); err != nil {
			t.Fatal(err)
		}
		if len(deep.Strings[0]) <= len(b) {
			t.Fatal("it does not grow")
		}
	}
	t.Errorf("a list %d deep was read", maxDepth+1)
}

// TestListWireIsPaid: slots for unset elements are paid for before they are allocated, whatever number a message states.
func TestListWireIsPaid(t *testing.T) {
	const n = 1 << 17
	metadata := binary.AppendUvarint(nil, n)
	for i := range uint64(n) {
		metadata = binary.AppendUvarint(metadata, i)
	}
	metadata = append(metadata, byte(tensor.Float32), 0)
	b, err := proto.Marshal(&tensor_go_proto.VariantTensorDataProto{TypeName: listType, Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
	x := &tensor.Tensor{DType: tensor.Variant, Strings: [][]byte{b}}
	p := Payer{Account: budget.NewServer(budget.Limits{Server: 2 << 20}).OpenLasting(), Lasting: true}
	if _, err := p.DecodeVariant(x); !errors.As(err, new(*budget.Error)) {
		t.Errorf("a list of %d elements in %d bytes: got %v", n, len(b), err)
	}
	p.Account = budget.NewServer(budget.Limits{Server: 1 << 24}).OpenLasting()
	if _, err := p.DecodeVariant(x); err != nil {
		t.Error(err)
	}
}

// TestListWireSize: what is paid for a list's message covers its memory, for each kind of element.
func TestListWireSize(t *testing.T) {
	s := newSession(t)
	for _, x := range []*tensor.Tensor{
		tensorOf(slices.Repeat([]int8{-1}, 1000), 1000), tensorOf(slices.Repeat([]int32{-1}, 1000), 1000), tensorOf(slices.Repeat([]int64{-1}, 1000), 1000),
		tensorOf(slices.Repeat([]float32{1}, 1000), 1000), texts(slices.Repeat([]string{"ab"}, 1000)...), tensorOf(slices.Repeat([]uint16{65535}, 1000), 1000),
	} {
		list := s.run("TensorListFromTensor", graph.Attrs{"element_dtype": x.DType}, x, tensorOf([]int32{}, 0))
		back, err := Payer{}.EncodeVariant(list)
		if err != nil {
			t.Fatal(err)
		}
		if n := encodedSize(list); n < len(back.Strings[0]) {
			t.Errorf("%v: %d bytes are paid for, the message has %d", x.DType, n, len(back.Strings[0]))
		}
	}
}
