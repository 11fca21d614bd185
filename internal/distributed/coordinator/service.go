package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// serviceName is the gRPC service of a Board.
const serviceName = "goestimator.Coordinator"

// maxHold is the longest that a request is held; who waits for longer asks again.
const maxHold = 30 * time.Second

// answer serves one method of a Board to a peer.
type answer func(ctx context.Context, v view, r *request) (*reply, error)

// Service is the Board for the Clients of other tasks; register it on the leader's node.
// Its methods and messages are described in the package's source, wire.go.
func (b *Board) Service() cluster.Service {
	s := cluster.Service{Name: serviceName, Unary: map[string]cluster.Handler{}}
	for name, a := range map[string]answer{
		"Set": serveSet, "Get": serveGet, "Wait": serveWait, "Members": serveMembers,
		"Gather": serveGather, "NextGeneration": serveGeneration, "Missing": serveMissing, "Beat": serveBeat,
	} {
		s.Unary[name] = func(ctx context.Context, f *cluster.Frame) (*cluster.Frame, error) { return b.serve(ctx, f, a) }
	}
	return s
}

func (b *Board) serve(ctx context.Context, f *cluster.Frame, a answer) (*cluster.Frame, error) {
	peer, ok := cluster.PeerOf(ctx)
	if !ok {
		return nil, fmt.Errorf("%w: the caller did not tell its task", ErrInvalid)
	}
	var r request
	if err := r.unmarshal(f.Header); err != nil {
		return nil, err
	}
	if r.board != 0 && r.board != b.id {
		return nil, ErrLeaderReset
	}
	out, err := a(ctx, view{b, peer}, &r)
	if err != nil {
		if ctx.Err() != nil { // nobody reads this
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return nil, err
	}
	out.board = b.id
	header := out.marshal()
	if limit := b.o.MaxBytes + b.o.MaxBytes/4; len(header) > limit {
		return nil, status.Errorf(codes.Internal, "an answer of %d bytes, expected at most %d", len(header), limit)
	}
	return &cluster.Frame{Header: header}, nil
}

func serveSet(ctx context.Context, v view, r *request) (*reply, error) {
	return &reply{}, v.Set(ctx, r.name, r.value)
}

func serveGet(ctx context.Context, v view, r *request) (*reply, error) {
	return found(v.Get(ctx, r.name))
}

func serveWait(ctx context.Context, v view, r *request) (*reply, error) {
	return found(v.wait(ctx, r.name, hold(r)))
}

func found(value []byte, ok bool, err error) (*reply, error) {
	if !ok {
		return &reply{}, err
	}
	return &reply{found: true, values: [][]byte{value}}, err
}

// hold is how long the caller wants to be held, at least a little: none would mean forever.
func hold(r *request) time.Duration { return max(r.wait, time.Millisecond) }

func (r *request) gather() Gather {
	return Gather{Name: r.name, Rank: int(r.rank), Size: int(r.size), Value: r.value}
}

func serveGather(ctx context.Context, v view, r *request) (*reply, error) {
	values, err := v.gather(ctx, r.gather(), hold(r))
	return gathered(&reply{found: true, values: values}, err)
}

func serveGeneration(ctx context.Context, v view, r *request) (*reply, error) {
	g, err := v.generation(ctx, r.gather(), r.after, hold(r))
	return gathered(&reply{found: true, values: g.Values, generation: g.Number}, err)
}

// gathered turns the end of a request's patience into a reply.
func gathered(out *reply, err error) (*reply, error) {
	var m *MissingError
	if errors.As(err, &m) && m.Err == errPending {
		return &reply{missing: m.Ranks}, nil
	}
	return out, err
}

func serveBeat(ctx context.Context, v view, r *request) (*reply, error) {
	stop, err := v.Beat(ctx, Beat{Rank: int(r.rank), Done: r.done, KnowsStop: r.knowsStop, Hold: r.wait, StepSecs: r.stepSecs})
	return &reply{stop: stop}, err
}

func serveMissing(ctx context.Context, v view, r *request) (*reply, error) {
	missing, err := v.Missing(ctx, r.name)
	return &reply{missing: missing}, err
}

func serveMembers(ctx context.Context, v view, _ *request) (*reply, error) {
	members, err := v.Members(ctx)
	return &reply{members: members}, err
}
