package wire

import (
	"fmt"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/encoding"
	ordinary "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// BenchmarkCodec writes a message with a tensor and reads it from buffers of 16 KiB, as the transport does.
func BenchmarkCodec(b *testing.B) {
	for name, codec := range map[string]encoding.CodecV2{"ours": Codec{}, "ordinary": encoding.GetCodecV2(ordinary.Name)} {
		for _, n := range []int{1 << 10, 1 << 12, 1 << 14, 1 << 18} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m := &apis.PredictResponse{Outputs: map[string]*tensor_go_proto.TensorProto{"y": {FloatVal: make([]float32, n)}}}
				b.SetBytes(int64(4 * n))
				b.ReportAllocs()
				for b.Loop() {
					out, err := codec.Marshal(m)
					if err != nil {
						b.Fatal(err)
					}
					var in mem.BufferSlice
					for _, p := range out {
						for d := p.ReadOnlyData(); len(d) > 0; {
							k := min(len(d), 1<<14)
							in = append(in, mem.SliceBuffer(d[:k]))
							d = d[k:]
						}
					}
					if err := codec.Unmarshal(in, &apis.PredictResponse{}); err != nil {
						b.Fatal(err)
					}
					out.Free()
				}
			})
		}
	}
}
