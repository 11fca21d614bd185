package calls

import (
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// The next 16 MiB of a message, or what is left of it, have that time to come. The next 16 MiB of a reply have that time to be taken.
const (
	arrival   = time.Minute
	departure = time.Minute
)

// receive reads the message of a call, or the next one of a stream. It is paid for before it is there, until the call ends, or the
// next message comes.
func (one *call) receive(m any, stream bool, ordinarily func(any) error) error {
	one.use(false)
	one.account.Close()
	one.account = one.calls.o.Memory.OpenLasting()
	p := admission.Payer{Account: one.account, Most: math.MaxInt32, Arrival: arrival, Codec: one.calls.o.Codec, Cost: cost, Stream: stream}
	err := p.Receive(one.ctx, m, ordinarily)
	one.use(err == nil)
	return err
}

// reply returns what is sent as a reply. A client that does not take it loses its connection.
func (one *call) reply(m any) (any, error) {
	return admission.Departure{Within: departure}.Message(one.ctx, m, one.calls.o.Codec)
}

// use notes whether the connection is in use, which it is while a message is answered.
func (one *call) use(now bool) {
	switch was := one.using.Swap(now); {
	case now && !was:
		one.place.Begin()
	case !now && was:
		one.place.End()
	}
}

// cost is what reading a message takes.
func cost(data mem.BufferSlice, m proto.Message) int { return protocost.Of(data, m, 0) }
