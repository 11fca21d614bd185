package graphdef

import (
	"bytes"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// TestStringContent: clients of TensorFlow feed strings as lengths and bytes.
func TestStringContent(t *testing.T) {
	read := func(n int64, content string) ([][]byte, error) {
		got, err := FromTensorProto(&tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_STRING, TensorContent: []byte(content),
			TensorShape: &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: n}}}})
		if err != nil {
			return nil, err
		}
		return got.Strings, nil
	}
	got, err := read(3, "\x02\x00\x01abc")
	if err != nil || !bytes.Equal(bytes.Join(got, []byte("|")), []byte("ab||c")) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []struct {
		n       int64
		content string
	}{{3, "\x01a"}, {1, "\x05ab"}, {1, "\x01ab"}, {2, "\x01\x02ab"}, {1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}, {1 << 40, "\x01a"}} {
		if got, err := read(bad.n, bad.content); err == nil {
			t.Errorf("%d strings of %q: got %q", bad.n, bad.content, got)
		}
	}
}
