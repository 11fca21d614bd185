package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// serviceName is the gRPC service of a Store.
const serviceName = "goestimator.KeyValue"

// maxHold is the longest time that a request is held; longer waits ask again.
const maxHold = 30 * time.Second

// answer serves one method of a Store to a peer.
type answer func(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error)

// Service serves the Store to the Clients of other tasks; register it on the leader's node.
// Its messages are StoreRequest and StoreReply of package wire.
func (b *Store) Service() cluster.Service {
	s := cluster.Service{Name: serviceName, Unary: map[string]cluster.Handler{}}
	for name, a := range map[string]answer{
		"Set": serveSet, "Get": serveGet, "Wait": serveWait, "Members": serveMembers,
		"Gather": serveGather, "NextGeneration": serveGeneration, "Missing": serveMissing, "Beat": serveBeat,
	} {
		s.Unary[name] = func(ctx context.Context, f *cluster.Frame) (*cluster.Frame, error) { return b.serve(ctx, f, a) }
	}
	return s
}

func (b *Store) serve(ctx context.Context, f *cluster.Frame, a answer) (*cluster.Frame, error) {
	peer, ok := cluster.PeerOf(ctx)
	if !ok {
		return nil, fmt.Errorf("%w: the caller did not tell its task", ErrInvalid)
	}
	r, err := decodeRequest(f.Header)
	if err != nil {
		return nil, err
	}
	if r.Store != 0 && r.Store != b.id {
		return nil, ErrLeaderReset
	}
	out, err := a(ctx, view{b, peer}, r)
	if err != nil {
		if ctx.Err() != nil { // the caller has left
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return nil, err
	}
	out.Store = b.id
	header := wire.Encode(out)
	if limit := b.o.MaxBytes + b.o.MaxBytes/4; len(header) > limit {
		return nil, status.Errorf(codes.Internal, "an answer of %d bytes, expected at most %d", len(header), limit)
	}
	return &cluster.Frame{Header: header}, nil
}

func serveSet(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	return &wire.StoreReply{}, v.Set(ctx, r.Name, r.Value)
}

func serveGet(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	return found(v.Get(ctx, r.Name))
}

func serveWait(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	return found(v.wait(ctx, r.Name, hold(r)))
}

func found(value []byte, ok bool, err error) (*wire.StoreReply, error) {
	if !ok {
		return &wire.StoreReply{}, err
	}
	return &wire.StoreReply{Found: true, Values: [][]byte{value}}, err
}

// hold is how long to hold the caller's request, at least a little: zero would mean forever.
func hold(r *wire.StoreRequest) time.Duration { return max(holdOf(r), time.Millisecond) }

func serveGather(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	values, err := v.gather(ctx, gatherOf(r), hold(r))
	return gathered(&wire.StoreReply{Found: true, Values: values}, err)
}

func serveGeneration(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	g, err := v.generation(ctx, gatherOf(r), int64(r.After), hold(r))
	return gathered(&wire.StoreReply{Found: true, Values: g.Values, Generation: uint64(g.Number)}, err)
}

// gathered turns the end of a request's time into a reply.
func gathered(out *wire.StoreReply, err error) (*wire.StoreReply, error) {
	var m *MissingError
	if errors.As(err, &m) && m.Err == errPending {
		return &wire.StoreReply{Missing: missingMessage(m.Ranks)}, nil
	}
	return out, err
}

func serveBeat(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	stop, err := v.Beat(ctx, Beat{Rank: int(r.Rank), Done: r.Done, KnowsStop: r.KnowsStop, Hold: holdOf(r), StepSecs: r.StepSecs})
	return &wire.StoreReply{Stop: stop}, err
}

func serveMissing(ctx context.Context, v view, r *wire.StoreRequest) (*wire.StoreReply, error) {
	missing, err := v.Missing(ctx, r.Name)
	return &wire.StoreReply{Missing: missingMessage(missing)}, err
}

func serveMembers(ctx context.Context, v view, _ *wire.StoreRequest) (*wire.StoreReply, error) {
	members, err := v.Members(ctx)
	out := &wire.StoreReply{}
	for _, m := range members {
		out.Members = append(out.Members, memberMessage(m))
	}
	return out, err
}
