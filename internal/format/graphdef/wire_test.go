package graphdef_test

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

var wireTypes = []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16,
	tensor.Uint32, tensor.Uint64, tensor.Bool, tensor.String, tensor.Float16, tensor.BFloat16, tensor.Complex64}

func view(p *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
	return graphdef.ViewTensorProto(p, nil)
}

// ProtoSize is the size of typed values that are not the tensor's own memory.
func TestProtoSize(t *testing.T) {
	for _, d := range wireTypes {
		for _, n := range []int{0, 1, 1000} {
			x := tensor.New(d, n)
			p, err := graphdef.ToTensorProto(x, false)
			if err != nil {
				t.Fatal(err)
			}
			want := 4 * (len(p.GetIntVal()) + len(p.GetHalfVal()) + len(p.GetScomplexVal()))
			if d == tensor.Int32 {
				want = 0
			}
			if got := graphdef.ProtoSize(x, false); got != want || graphdef.ProtoSize(x, true) != 0 {
				t.Errorf("%v of %d: got %d, expected %d", d, n, got, want)
			}
		}
	}
	x := tensor.New(tensor.Float32, 11)
	x = &tensor.Tensor{DType: tensor.Float32, Shape: []int{10}, Bytes: x.Bytes[2:42]}
	if got := graphdef.ProtoSize(x, false); got != 40 || graphdef.ProtoSize(nil, false) != 0 {
		t.Errorf("got %d for memory that is not aligned", got)
	}
}

// A tensor written either way, sent and read is unchanged, for both readers.
func TestWireRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := tensor.New(rapid.SampledFrom(wireTypes).Draw(t, "type"), rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")...)
		for i := range x.Bytes {
			if x.Bytes[i] = rapid.Byte().Draw(t, "byte"); x.DType == tensor.Bool {
				x.Bytes[i] &= 1
			}
		}
		for i := range x.Strings {
			x.Strings[i] = rapid.SliceOf(rapid.Byte()).Draw(t, "string")
		}
		p, err := graphdef.ToTensorProto(x, rapid.Bool().Draw(t, "content"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		sent := &tensor_go_proto.TensorProto{}
		if err := proto.Unmarshal(b, sent); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(*tensor_go_proto.TensorProto) (*tensor.Tensor, error){"view": view, "copy": graphdef.FromTensorProto} {
			y, err := read(sent)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			same := x.DType == y.DType && len(x.Shape) == len(y.Shape) && cmp.Equal(append([]int{}, x.Shape...), append([]int{}, y.Shape...)) && bytes.Equal(x.Bytes, y.Bytes)
			for i, s := range x.Strings {
				same = same && bytes.Equal(s, y.Strings[i])
			}
			if !same {
				t.Fatalf("%s: %v became %v", name, x, y)
			}
		}
	})
}

func TestWireSharesMemory(t *testing.T) {
	x, err := tensor.FromSlice([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graphdef.ToTensorProto(x, false)
	if err != nil {
		t.Fatal(err)
	}
	y, err := view(p)
	if err != nil {
		t.Fatal(err)
	}
	tensor.Values[float32](x)[1] = 7
	if tensor.Values[float32](y)[1] != 7 {
		t.Error("a copy was made on the way")
	}
}

func TestWireOddForms(t *testing.T) {
	shape := func(dims ...int64) *tensor_shape_go_proto.TensorShapeProto {
		s := &tensor_shape_go_proto.TensorShapeProto{}
		for _, d := range dims {
			s.Dim = append(s.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: d})
		}
		return s
	}
	// Content that is not aligned, and booleans that are neither 0 nor 1.
	odd := unsafe.Slice((*byte)(unsafe.Pointer(&make([]uint64, 2)[0])), 16)[1:9]
	y, err := view(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_INT64, TensorShape: shape(1), TensorContent: odd})
	if err != nil || uintptr(unsafe.Pointer(&y.Bytes[0]))%8 != 0 {
		t.Errorf("%v %v", y, err)
	}
	y, err = view(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_BOOL, TensorShape: shape(3), TensorContent: []byte{0, 1, 2}})
	if err != nil || !cmp.Equal(tensor.Values[bool](y), []bool{false, true, true}) {
		t.Errorf("%v %v", y, err)
	}
	y, err = view(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_STRING, TensorShape: shape(3), StringVal: [][]byte{[]byte("a"), []byte("b")}})
	if err != nil || string(y.Strings[2]) != "b" {
		t.Errorf("%v %v", y, err)
	}
	for _, bad := range []*tensor_go_proto.TensorProto{nil, {}, {Dtype: types_go_proto.DataType_DT_VARIANT}, {Dtype: types_go_proto.DataType_DT_FLOAT, TensorShape: shape(1<<62, 1<<62)},
		{Dtype: types_go_proto.DataType_DT_FLOAT, TensorShape: shape(1<<24 + 1), FloatVal: []float32{1}}, {Dtype: types_go_proto.DataType_DT_FLOAT, TensorShape: shape(1<<24 + 1)},
		{Dtype: types_go_proto.DataType_DT_FLOAT, TensorShape: shape(-1), FloatVal: []float32{1}}, {Dtype: types_go_proto.DataType_DT_STRING, TensorShape: shape(1 << 22), StringVal: [][]byte{nil}},
		{Dtype: types_go_proto.DataType_DT_STRING, TensorShape: shape(1 << 40)}, {Dtype: types_go_proto.DataType_DT_STRING, TensorShape: shape(2), TensorContent: []byte{255}},
		{Dtype: types_go_proto.DataType_DT_FLOAT, TensorShape: shape(make([]int64, 255)...)}} {
		if y, err := view(bad); err == nil {
			t.Errorf("%v was read as %v", bad, y)
		}
	}
	for _, bad := range []*tensor.Tensor{nil, {}, {DType: tensor.Float32, Shape: []int{2}}, {DType: tensor.String, Shape: []int{1}}, {DType: tensor.Resource}} {
		if p, err := graphdef.ToTensorProto(bad, false); err == nil {
			t.Errorf("%v was written as %v", bad, p)
		}
	}
}

// TestRepeatedStringsCountWithTheirLength: a few long strings that stand for many count as much as their copies would.
func TestRepeatedStringsCountWithTheirLength(t *testing.T) {
	const mib = 1 << 20
	few := func(n int64, values ...[]byte) *tensor_go_proto.TensorProto {
		return &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_STRING, StringVal: values,
			TensorShape: &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: n}}}}
	}
	long := make([]byte, mib)
	server := budget.NewServer(budget.Limits{Server: 1 << 40})
	for name, c := range map[string]struct {
		p        *tensor_go_proto.TensorProto
		received int
		fits     bool
	}{
		"within the limit":         {few(63, long), mib, true},
		"beyond it":                {few(64, long), mib, false},
		"short ones":               {few(2_700_000, []byte("a")), mib, false},
		"empty ones":               {few(2_700_000, nil), mib, true},
		"as many as there are":     {few(2, long, long), mib, true},
		"more than numbers count":  {few(1<<58, long), mib, false},
		"the last alone is often":  {few(1_000_000, long, []byte("a")), mib, true},
		"the last alone is longer": {few(66, nil, long), mib, false},
	} {
		a := server.Open()
		a.Received(c.received)
		if y, err := graphdef.ViewTensorProto(c.p, a); (err == nil) != c.fits {
			t.Errorf("%s: %v, %v", name, y != nil, err)
		}
		a.Close()
	}
	// The bound on what a graph may expand to also bounds copies.
	if _, err := graphdef.FromTensorProto(few(300, long)); err == nil {
		t.Error("300 copies of a megabyte were made")
	}
	if y, err := graphdef.FromTensorProto(few(3, long, nil)); err != nil || len(y.Strings[2]) != 0 {
		t.Error(err)
	}
}

// TestCopiesAreCounted: copies are paid for before they are made.
func TestCopiesAreCounted(t *testing.T) {
	shape := &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: 1 << 16}}}
	content := make([]byte, 1<<16)
	content[77] = 2
	for name, p := range map[string]*tensor_go_proto.TensorProto{
		"odd booleans":   {Dtype: types_go_proto.DataType_DT_BOOL, TensorShape: shape, TensorContent: content},
		"halves":         {Dtype: types_go_proto.DataType_DT_HALF, TensorShape: shape, HalfVal: make([]int32, 1<<16)},
		"string content": {Dtype: types_go_proto.DataType_DT_STRING, TensorShape: shape, TensorContent: make([]byte, 1<<16)},
	} {
		small, large := budget.NewServer(budget.Limits{Server: 1 << 15}).Open(), budget.NewServer(budget.Limits{Server: 1 << 24}).Open()
		if _, err := graphdef.ViewTensorProto(p, small); small.Refused() == nil || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := graphdef.ViewTensorProto(p, large); err != nil || large.Held() == 0 {
			t.Errorf("%s: %v, %d bytes counted", name, err, large.Held())
		}
	}
	if y, err := graphdef.FromTensorProto(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_BOOL, TensorShape: shape, TensorContent: content}); err == nil {
		t.Errorf("a boolean of 2 was read as %v", y.Bytes[77])
	}
}
