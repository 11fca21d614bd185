package calls

import (
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// The time for the next 16 MiB of a message, or its rest, to arrive, and for the client to receive the next 16 MiB of a reply.
const (
	arrival   = time.Minute
	departure = time.Minute
)

// receive reads the message of a call, or the next one of a stream. Its memory is paid for in advance, until the call ends or the
// next message arrives.
func (one *call) receive(m any, stream bool, ordinarily func(any) error) error {
	one.use(false)
	one.account.Close()
	one.account = one.calls.o.Memory.OpenLasting()
	p := admission.Payer{Account: one.account, Most: math.MaxInt32, Arrival: arrival, Codec: one.calls.o.Codec, Cost: cost, Stream: stream}
	err := p.Receive(one.ctx, m, ordinarily)
	one.use(err == nil)
	return err
}

// reply returns the message to send as a reply. A client that does not receive it loses its connection.
func (one *call) reply(m any) (any, error) {
	return admission.Departure{Within: departure}.Message(one.ctx, m, one.calls.o.Codec)
}

// use records whether the connection is in use, as it is while a message is being answered.
func (one *call) use(now bool) {
	switch was := one.using.Swap(now); {
	case now && !was:
		one.place.Begin()
	case !now && was:
		one.place.End()
	}
}

// cost is the memory for a decoded message.
func cost(data mem.BufferSlice, m proto.Message) int { return protocost.Of(data, m, 0) }
