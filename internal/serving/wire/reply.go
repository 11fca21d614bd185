package wire

import (
	"runtime"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Reply is a message that is marshalled already. Its account pays for it until the transport has sent it.
type Reply struct {
	data     mem.BufferSlice
	account  *budget.Account
	inFlight atomic.Int64 // buffers that are on their way
}

// few is how many values a message may have without an account.
const few = 1 << 12

// NewReply marshals m, which a model answered. The Reply owns the account: nothing of it is held but the reply, and it is closed when that
// was sent, or dropped.
func NewReply(m proto.Message, a *budget.Account) (*Reply, error) {
	if values(m) > few {
		if err := a.ReserveModel(proto.Size(m)); err != nil {
			return nil, err
		}
	}
	data, err := Codec{}.Marshal(m)
	if err != nil {
		return nil, err
	}
	r := &Reply{account: a}
	for _, b := range data {
		r.data = append(r.data, r.track(b))
	}
	if r.inFlight.Load() == 0 {
		a.Close()
		return r, nil
	}
	a.ReleaseSince(budget.Mark{}, data.Len())
	runtime.AddCleanup(r, func(a *budget.Account) { a.Close() }, a) // where the transport forgets a buffer
	return r, nil
}

// values is about how many values a message has.
func values(m proto.Message) (n int) {
	switch m := m.(type) {
	case *apis.PredictResponse:
		for _, t := range m.GetOutputs() {
			n += len(t.GetIntVal()) + len(t.GetInt64Val()) + len(t.GetUint32Val()) + len(t.GetUint64Val()) + len(t.GetBoolVal()) + len(t.GetHalfVal()) + len(t.GetScomplexVal()) + len(t.GetDcomplexVal())
			for _, s := range t.GetStringVal() {
				n += 1 + len(s)
			}
		}
	case *pb.ModelInferResponse:
		for _, t := range m.GetOutputs() {
			c := t.GetContents()
			n += len(c.GetBoolContents()) + len(c.GetIntContents()) + len(c.GetInt64Contents()) + len(c.GetUintContents()) + len(c.GetUint64Contents()) +
				len(c.GetFp32Contents()) + len(c.GetFp64Contents())
			for _, s := range c.GetBytesContents() {
				n += 1 + len(s)
			}
		}
		for _, b := range m.GetRawOutputContents() {
			n += len(b)
		}
	case *apis.ClassificationResponse:
		return classes(m.GetResult())
	case *apis.RegressionResponse:
		return len(m.GetResult().GetRegressions())
	case *apis.MultiInferenceResponse:
		for _, r := range m.GetResults() {
			n += classes(r.GetClassificationResult()) + len(r.GetRegressionResult().GetRegressions())
		}
	}
	return n
}

func classes(r *apis.ClassificationResult) int {
	if c := r.GetClassifications(); len(c) > 0 {
		return len(c) * (1 + len(c[0].GetClasses()))
	}
	return 0
}

// track returns a buffer that tells the Reply when it was sent. Small ones do not: gRPC does not say when they are free.
func (r *Reply) track(b mem.Buffer) mem.Buffer {
	text := b.ReadOnlyData()
	if mem.IsBelowBufferPoolingThreshold(cap(text)) {
		return b
	}
	r.inFlight.Add(1)
	return mem.NewBuffer(&text, &trackedPool{r, b})
}

// trackedPool is the pool that a buffer goes back to when it was sent.
type trackedPool struct {
	r *Reply
	b mem.Buffer
}

// Get implements mem.BufferPool; nobody asks.
func (l *trackedPool) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements mem.BufferPool.
func (l *trackedPool) Put(*[]byte) {
	l.b.Free()
	if l.r.inFlight.Add(-1) == 0 {
		l.r.account.Close()
	}
}

var _ mem.BufferPool = (*trackedPool)(nil)
