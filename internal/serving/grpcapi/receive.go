package grpcapi

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/serving/wire"
	"google.golang.org/protobuf/proto"
)

// receive reads the message of a call by the account. A panic becomes an error of the call, as in the handlers.
func (l Limits) receive(ctx context.Context, method string, m any, a *budget.Account, ordinarily func(any) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(method, p)
			fault.Log(l.Log, err)
		}
	}()
	p := admission.Payer{Account: a, Most: l.MaxMessage, Arrival: l.Arrival, Ending: l.Ending, Codec: wire.Codec{}, Cost: wire.Cost}
	return p.Receive(ctx, m, ordinarily)
}

// marshal encodes an answer. From then on the account pays for the encoded reply.
func (l Limits) marshal(ctx context.Context, answer any, a *budget.Account) (any, error) {
	m, ok := answer.(proto.Message)
	if !ok {
		a.Close()
		return answer, nil
	}
	return wire.NewReply(ctx, m, a, l.Departure)
}
