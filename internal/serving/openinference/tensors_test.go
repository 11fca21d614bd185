package openinference

import (
	"bytes"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestRaw: the bytes of all types round-trip, and raw content that does not fit is refused without using more memory than was sent.
func TestRaw(t *testing.T) {
	for name, d := range datatypes {
		raw := []byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0}
		if d != tensor.String {
			raw = bytes.Repeat([]byte{1}, 2*d.Size())
		}
		x, err := Input{"x", name, []int64{2, 1}}.Raw(raw, nil)
		if err != nil || x.DType != d || !bytes.Equal(AppendRaw(nil, x), raw) || RawSize(x) != len(raw) || Datatype(d) != name {
			t.Errorf("%s: got %v, %v", name, x, err)
		}
	}
	for name, c := range map[string]struct {
		in  Input
		raw string
	}{
		"an unknown type":      {Input{"x", "FP8", []int64{1}}, "1"},
		"too few bytes":        {Input{"x", "FP32", []int64{2}}, "1234567"},
		"too many bytes":       {Input{"x", "FP32", []int64{2}}, "123456789"},
		"a negative size":      {Input{"x", "INT8", []int64{-1}}, "1"},
		"two negative sizes":   {Input{"x", "INT8", []int64{-1, -1}}, "1"},
		"a huge size":          {Input{"x", "INT8", []int64{math.MaxInt64}}, "1"},
		"sizes that overflow":  {Input{"x", "INT8", []int64{1 << 32, 1 << 32}}, "1"},
		"many strings":         {Input{"x", "BYTES", []int64{1 << 40}}, "\x00\x00\x00\x00"},
		"a cut length":         {Input{"x", "BYTES", []int64{1}}, "\x01\x00\x00"},
		"a cut string":         {Input{"x", "BYTES", []int64{1}}, "\x02\x00\x00\x00a"},
		"a length of 4 GiB":    {Input{"x", "BYTES", []int64{1}}, "\xff\xff\xff\xffa"},
		"bytes behind strings": {Input{"x", "BYTES", []int64{1}}, "\x01\x00\x00\x00abcd"},
		"many dimensions":      {Input{"x", "INT8", make([]int64, 255)}, ""},
	} {
		if x, err := c.in.Raw([]byte(c.raw), nil); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, %v", name, x, err)
		}
	}
	if x, err := (Input{"x", "BOOL", []int64{3}}).Raw([]byte{0, 1, 7}, nil); err != nil || !bytes.Equal(x.Bytes, []byte{0, 1, 1}) {
		t.Errorf("booleans: got %v, %v", x, err)
	}
	if x, err := (Input{"x", "FP32", []int64{0, 1e12}}).Raw(nil, nil); err != nil || x.Len() != 0 {
		t.Errorf("empty: got %v, %v", x, err)
	}
}

// TestTyped: typed contents must have the elements of the shape, each in the range of its type.
func TestTyped(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		c    *pb.InferTensorContents
		fits bool
	}{
		"INT8":          {Input{"x", "INT8", []int64{2}}, &pb.InferTensorContents{IntContents: []int32{-128, 127}}, true},
		"beyond INT8":   {Input{"x", "INT8", []int64{1}}, &pb.InferTensorContents{IntContents: []int32{128}}, false},
		"UINT16":        {Input{"x", "UINT16", []int64{1, 1}}, &pb.InferTensorContents{UintContents: []uint32{65535}}, true},
		"beyond UINT16": {Input{"x", "UINT16", []int64{1}}, &pb.InferTensorContents{UintContents: []uint32{65536}}, false},
		"another field": {Input{"x", "INT64", []int64{1}}, &pb.InferTensorContents{IntContents: []int32{1}}, false},
		"more":          {Input{"x", "BOOL", []int64{1}}, &pb.InferTensorContents{BoolContents: []bool{true, true}}, false},
		"no contents":   {Input{"x", "FP64", []int64{1}}, nil, false},
		"nothing":       {Input{"x", "FP64", []int64{0}}, nil, true},
		"FP16":          {Input{"x", "FP16", []int64{0}}, nil, false},
	} {
		if x, err := c.in.Typed(c.c, nil); (err == nil) != c.fits || err != nil && status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, %v", name, x, err)
		}
	}
}

// TestPaid: tensors made from a request are paid for.
func TestPaid(t *testing.T) {
	server := budget.NewServer(budget.Limits{Server: 1 << 30, Request: 1 << 10})
	a := server.Open()
	defer a.Close()
	if x, err := (Input{"x", "BYTES", []int64{100}}).Raw(make([]byte, 400), a); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, %v", x, err)
	}
}
