package wire

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// few is how many values a message may have without an account.
const few = 1 << 12

// NewReply marshals m, a model's answer to the call of ctx. The reply owns the account, which then pays only for the reply and its call,
// and closes it when the reply is sent or dropped. The client has the time within to receive each 16 MiB.
func NewReply(ctx context.Context, m proto.Message, a *budget.Account, within time.Duration) (*admission.Outgoing, error) {
	if values(m) > few {
		if err := a.ReserveModel(proto.Size(m)); err != nil {
			return nil, err
		}
	}
	data, err := Codec{}.Marshal(m)
	if err != nil {
		return nil, err
	}
	a.ReleaseSince(budget.Mark{}, data.Len())
	if err := a.ReserveModel(admission.WaitingReply + data.Len() - int(a.Held())); err != nil {
		return nil, err
	}
	d := admission.Departure{Within: within, Gone: a.Close}
	return &admission.Outgoing{Data: d.Send(ctx, data)}, nil
}

// values is the approximate number of values in a message.
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
