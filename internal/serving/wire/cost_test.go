package wire

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func field(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(parts, nil))
}

// kinds are the messages that servers receive.
var kinds = []func() proto.Message{
	func() proto.Message { return &apis.PredictRequest{} }, func() proto.Message { return &apis.ClassificationRequest{} },
	func() proto.Message { return &apis.RegressionRequest{} }, func() proto.Message { return &apis.MultiInferenceRequest{} },
	func() proto.Message { return &apis.GetModelMetadataRequest{} }, func() proto.Message { return &apis.GetModelStatusRequest{} },
	func() proto.Message { return &apis.ReloadConfigRequest{} }, func() proto.Message { return &pb.ModelInferRequest{} },
}

// FuzzCost compares the estimated cost of reading a message with the actual one, also for garbage.
func FuzzCost(f *testing.F) {
	const n = 1 << 12
	tensor := func(parts ...[]byte) []byte { return field(2, field(1, []byte("x")), field(2, parts...)) }
	deep := []byte{}
	for range 500 {
		deep = field(15, field(1, deep), field(3, deep[:min(len(deep), 50)]))
	}
	for _, b := range [][]byte{nil, bytes.Repeat(field(2), n), bytes.Repeat(field(1), n), bytes.Repeat(field(3), n), bytes.Repeat(field(1, field(1)), n),
		tensor(field(2, bytes.Repeat(field(2), n))), tensor(bytes.Repeat(field(15), n)), tensor(bytes.Repeat(field(14), n)), tensor(bytes.Repeat(field(8), n)),
		tensor(field(10, make([]byte, n))), tensor(field(7, make([]byte, n))), tensor(field(11, make([]byte, n))), tensor(field(5, make([]byte, n))), tensor(field(4, make([]byte, n))),
		tensor(bytes.Repeat([]byte{10 << 3, 0}, n)), tensor(bytes.Repeat([]byte{5<<3 | 5, 0, 0, 0, 0}, n)), tensor(deep), bytes.Repeat([]byte{99 << 3 & 0x7f, 0}, n),
		field(2, field(1, bytes.Repeat(field(1), n))), field(2, field(2, bytes.Repeat(field(1), n), field(2, make([]byte, n)))), bytes.Repeat(field(2, field(2, field(1))), n),
		bytes.Repeat(field(5), n), bytes.Repeat(field(6), n), bytes.Repeat(field(7), n), field(7, make([]byte, n)), bytes.Repeat(field(4), n), bytes.Repeat(field(5, field(4)), n),
		field(5, field(3, make([]byte, n)), field(5, field(1, make([]byte, n)))), field(5, field(5, field(3, make([]byte, n)))), field(5, field(5, bytes.Repeat(field(8), n))),
		field(1, field(1, bytes.Repeat(field(1), n))), {0x12, 0xff, 0xff, 0xff, 0xff, 0x0f}, {0x0b, 0x0c}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range kinds {
			m := kind()
			data := mem.BufferSlice{mem.SliceBuffer(b)}
			cost := Cost(data, m)
			if cost < 0 {
				t.Fatalf("%T: costs %d", m, cost)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := Codec{}.Unmarshal(data, m)
			runtime.ReadMemStats(&after)
			// A slice that grows by appending leaves its old arrays behind, and other goroutines allocate, too.
			if took := after.TotalAlloc - before.TotalAlloc; took > 2*uint64(cost+len(b))+1<<20 {
				t.Errorf("%T: %d bytes are said to take %d, and took %d (%v)", m, len(b), cost, took, err)
			}
		}
	})
}

// FuzzExamplesOf: the examples in a raw input are the ones that the ordinary codec finds.
func FuzzExamplesOf(f *testing.F) {
	f.Add(field(1, field(1, []byte("abc")), field(1)))
	f.Add(field(2, field(1), field(2, []byte("ctx"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw := &apis.Input{}
		raw.ProtoReflect().SetUnknown(b)
		got, err := ExamplesOf(raw, budget.NewServer(budget.Limits{Server: 1 << 40}).Open())
		if err != nil || got.Serialized == nil {
			return
		}
		want := &apis.Input{}
		if proto.Unmarshal(b, want) != nil {
			return
		}
		list := want.GetExampleList().GetExamples()
		if want.GetExampleList() == nil {
			list = want.GetExampleListWithContext().GetExamples()
		}
		if len(list) != len(got.Serialized) {
			t.Errorf("%d examples, expected %d", len(got.Serialized), len(list))
		}
	})
}
