package ps

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// send sends the shares to the servers. Server 0's commit waits for the others'
// answers; if its verdict is requested, they wait for it.
func (o *outgoing) send(ctx context.Context, ids []*wire.SessionID, cancel context.CancelFunc) (Reply, error) {
	admitted, others := make(chan struct{}), make(chan struct{})
	if !o.ask {
		close(admitted)
	}
	var reply *wire.PushReply
	errs := make([]error, o.p.Servers)
	var first, rest sync.WaitGroup
	for i := range o.parts {
		if i == 0 {
			first.Go(func() { reply, errs[0] = o.sendFirst(ctx, ids[0], admitted, others) })
			continue
		}
		if len(o.parts[i].entries) == 0 && len(o.parts[i].want) == 0 {
			continue
		}
		rest.Go(func() {
			select {
			case <-admitted:
				_, errs[i] = o.retry(ctx, i, func() (*wire.PushReply, error) { return o.attempt(ctx, i, ids[i], nil, nil) })
			case <-ctx.Done():
				errs[i] = context.Cause(ctx)
			}
			if errs[i] != nil {
				cancel() // server 0 must not count this push
			}
		})
	}
	go func() { rest.Wait(); close(others) }()
	first.Wait()
	if errs[0] != nil || reply.Stale {
		cancel()
	}
	rest.Wait()
	if errs[0] == nil {
		return Reply{Progress: progressOf(reply.Progress), Stale: reply.Stale, Pulled: o.got != nil && !reply.Stale && !reply.Done}, nil
	}
	return Reply{}, fmt.Errorf("push of step %d: %w", o.Step, join(errs))
}

// sendFirst sends the share of server 0.
func (o *outgoing) sendFirst(ctx context.Context, id *wire.SessionID, admitted, others chan struct{}) (*wire.PushReply, error) {
	var once sync.Once
	admit := func() {
		if o.ask {
			once.Do(func() { close(admitted) })
		}
	}
	return o.retry(ctx, 0, func() (*wire.PushReply, error) { return o.attempt(ctx, 0, id, admit, others) })
}

// retry repeats attempts while the connection breaks.
func (o *outgoing) retry(ctx context.Context, server int, attempt func() (*wire.PushReply, error)) (r *wire.PushReply, err error) {
	err = o.c.retry(ctx, server, "Push", func() error {
		r, err = attempt()
		return err
	})
	return r, err
}

// attempt sends one server's share once.
func (o *outgoing) attempt(ctx context.Context, server int, id *wire.SessionID, admit func(), others chan struct{}) (r *wire.PushReply, err error) {
	err = o.c.exchange(ctx, server, "Push", func(st cluster.ClientStream) (err error) {
		r, err = o.stream(ctx, st, server, id, admit, others)
		return err
	})
	return r, err
}

func (o *outgoing) stream(ctx context.Context, st cluster.ClientStream, server int, id *wire.SessionID, admit func(), others chan struct{}) (r *wire.PushReply, err error) {
	part := &o.parts[server]
	h := &wire.PushHeader{Id: id, Rank: int64(o.c.c.Rank), Client: o.c.id, Sequence: o.sequence, Step: o.Step, Weight: o.Weight,
		Transfer: wire.Transfer(o.c.c.Transfer), Ask: o.ask && server == 0, Want: versions(part.want), Entries: entriesMessage(part.entries), Update: o.update != nil}
	if server == 0 {
		h.Tally = headerOf(o.Tally)
	}
	if err := st.Send(&cluster.Frame{Header: wire.Encode(h), More: !h.Ask && len(part.segments) > 0}); err != nil {
		return r, err
	}
	if h.Ask {
		if r, err = receiveReply(st); err != nil || r.Stale || r.Done {
			return r, err
		}
		admit()
	}
	if err := sendSegments(st, transfer(h.Transfer), part.segments); err != nil {
		return r, err
	}
	if others != nil {
		select {
		case <-others:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return r, fmt.Errorf("the other servers have not taken their shares: %w", context.Cause(ctx))
		}
	}
	if err := st.Send(&cluster.Frame{Header: wire.Encode(&wire.PushEnd{Commit: true, Position: o.Position})}); err != nil {
		return r, err
	}
	return o.receiveAnswer(st, part.want)
}

// receiveAnswer reads the outcome, and then the requested values.
func (o *outgoing) receiveAnswer(st cluster.ClientStream, want []have) (*wire.PushReply, error) {
	r, err := receiveReply(st)
	if err != nil || len(want) == 0 {
		return r, err
	}
	_, err = eachFrame(st, func(h *wire.PullFrame, m *cluster.Message) error { return o.got.put(h, m, transfer(o.c.c.Transfer)) })
	return r, err
}

func receiveReply(st cluster.ClientStream) (*wire.PushReply, error) {
	f, err := st.Recv()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	r := &wire.PushReply{}
	return r, wire.Decode(f.Header, r)
}

// frames sends a body in frames of about frameBytes.
type frames struct {
	st          cluster.ClientStream
	transfer    transfer
	f           cluster.Frame
	size        int
	block, half []byte
}

func sendSegments(st cluster.ClientStream, t transfer, segments []segment) error {
	out := &frames{st: st, transfer: t}
	defer func() { releaseScratch(out.block); releaseScratch(out.half) }()
	for _, s := range segments {
		var err error
		if s.rows != nil {
			err = out.addRows(s)
		} else {
			err = out.add(s.bytes)
		}
		if err != nil {
			return err
		}
	}
	return out.flush()
}

func (o *frames) flush() error {
	if o.size == 0 {
		return nil
	}
	err := o.st.Send(&o.f)
	o.f, o.size = cluster.Frame{}, 0
	return err
}

// add sends bytes now or with the next ones; they must not change until the next flush.
func (o *frames) add(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), frameBytes-o.size)
		o.f.Body = append(o.f.Body, b[:n])
		b, o.size = b[n:], o.size+n
		if o.size == frameBytes {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowFrame is how many bytes of rows are summed before they are sent: few
// enough that the other end works on them while the next ones are summed.
const rowFrame = 256 << 10

func (o *frames) addRows(s segment) error {
	v := s.rows.v
	size := v.rowBytes()
	most := max(rowFrame/max(size, 1), 1)
	for lo := s.lo; lo < s.hi; {
		hi := min(lo+most, s.hi)
		block := resizeScratch(&o.block, (hi-lo)*size)
		s.rows.read(block, lo, hi)
		if o.transfer.half(v.DType) {
			half := resizeScratch(&o.half, len(block)/2)
			o.transfer.narrow(half, block)
			block = half
		}
		if err := o.add(block); err != nil {
			return err
		}
		if err := o.flush(); err != nil { // the block is reused
			return err
		}
		lo = hi
	}
	return nil
}
