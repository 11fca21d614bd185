package transport

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// TestCancelledBeside: calls that are cancelled at any moment do not affect the answers of others, and leave nothing behind.
func TestCancelledBeside(t *testing.T) {
	for _, w := range []way{ways[1], ways[3]} {
		r := serve(t, w)
		var all sync.WaitGroup
		for i := range 8 {
			draw := rand.New(rand.NewPCG(uint64(i), 1))
			all.Go(func() {
				for n := range 12 {
					limit := time.Minute
					if n%3 > 0 {
						limit = time.Duration(draw.IntN(4000)) * time.Microsecond
					}
					r.cancelled(byte(12*i+n), draw.IntN(1<<20), limit)
				}
			})
		}
		all.Wait()
		r.echoed("after all", 3<<20)
		if !r.conn.Direct() {
			t.Errorf("%s: the connection is lost", w.name)
		}
		until(t, "nothing is held", func() bool { return r.memory.Used() == 0 })
	}
}

// cancelled sends a tensor of n equal bytes and checks the echo, unless that takes longer than limit.
func (r *rig) cancelled(value byte, n int, limit time.Duration) {
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	in := requestOf(strings.Repeat(string(rune('a'+value%26)), 1000), 1)
	in.GetFeed()[0].GetTensor().TensorContent = bytes.Repeat([]byte{value}, n)
	out, err := call[rpcs.RunStepResponse](ctx, r, "RunStep", in)
	if code := status.Code(err); err != nil && code != codes.DeadlineExceeded && code != codes.ResourceExhausted {
		r.t.Errorf("%d bytes: %v", n, err)
	}
	if err == nil && !proto.Equal(out, &rpcs.RunStepResponse{Tensor: in.GetFeed(), StatusErrorMessage: in.GetSessionHandle()}) {
		r.t.Errorf("%d bytes: the answer is another one", n)
	}
}
