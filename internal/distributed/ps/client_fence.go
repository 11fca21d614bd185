package ps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// Snapshot is the state of all servers at one global step. Training continues while
// it is read. It must be closed.
type Snapshot struct {
	Step      int64
	Positions map[int][]byte // of the workers' inputs, by rank
	// Held is how long pushes were held back, on the server with the longest time.
	Held time.Duration
	// Scalars are shared by the optimizer's variables, such as Adam's powers.
	Scalars map[string]*tensor.Tensor
	// Parts are the variables and slots, in the order in which they must be read.
	// Together, the parts of a name cover it.
	Parts []Part

	c     *Client
	p     *Plan
	ids   []*wire.SessionID
	fence uint64
}

// Part is a piece of a variable or slot: rows [First, First+Rows) along axis 0.
type Part struct {
	Name        string
	Type        graph.Type // of the whole
	First, Rows int
	Whole       bool // the only part

	s           *Snapshot
	unit, field int
	offset      int // in the unit's field
}

// maxPartBytes bounds a part, which its reader has in memory, unless a single row is
// larger.
const maxPartBytes = 32 << 20

// Fence takes a checkpoint at the present global step: server 0 holds back pushes
// until all servers have marked their state; then training continues, and data is
// copied before it changes.
func (c *Client) Fence(ctx context.Context) (*Snapshot, error) {
	p, ids, err := c.connection()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	s := &Snapshot{c: c, p: p, ids: ids, fence: nonZero(), Positions: map[int][]byte{}, Scalars: map[string]*tensor.Tensor{}}
	if err := s.begin(ctx); err != nil {
		s.abandon()
		return nil, fmt.Errorf("checkpoint on the parameter servers: %w", err)
	}
	s.list()
	if err := s.readScalars(ctx); err != nil {
		s.abandon()
		return nil, fmt.Errorf("checkpoint on the parameter servers: %w", err)
	}
	return s, nil
}

func (s *Snapshot) request(server int) *wire.FenceRequest {
	return &wire.FenceRequest{Id: s.ids[server], Fence: s.fence}
}

func (s *Snapshot) begin(ctx context.Context) error {
	var first, end wire.FenceReply
	if err := s.c.call(ctx, 0, "FenceBegin", s.request(0), &first); err != nil {
		return err
	}
	others := make([]wire.FenceReply, s.p.Servers)
	err := s.c.each(func(i int) error {
		if i == 0 {
			return nil
		}
		return s.c.call(ctx, i, "FenceMark", s.request(i), &others[i])
	})
	if err != nil {
		return err
	}
	if err := s.c.call(ctx, 0, "FenceEnd", s.request(0), &end); err != nil {
		return err
	}
	s.Step = first.Step
	for _, x := range first.Positions {
		s.Positions[int(x.Rank)] = x.State
	}
	s.Held = time.Duration(end.HeldNs)
	for i := range others {
		s.Held = max(s.Held, time.Duration(others[i].HeldNs))
	}
	return nil
}

// list makes the parts.
func (s *Snapshot) list() {
	for number, u := range s.p.units {
		v := &s.p.Variables[u.Variable]
		names, types := s.p.fieldsOf(u)
		rows := max(maxPartBytes/max(v.rowBytes(), 1), 1)
		for field := range 1 + len(v.Slots) {
			x := Part{Name: names[field], Type: types[field], s: s, unit: number, field: field}
			x.Whole = v.Parts == 1 && v.rows() <= rows
			for lo := u.Lo; lo < u.Hi || lo == 0 && v.rows() == 0; lo += rows {
				x.First, x.Rows, x.offset = lo, min(rows, u.Hi-lo), (lo-u.Lo)*v.rowBytes()
				s.Parts = append(s.Parts, x)
			}
		}
	}
}

// readScalars reads the scalars of groups from the first part of each.
func (s *Snapshot) readScalars(ctx context.Context) error {
	for number, u := range s.p.units {
		v := &s.p.Variables[u.Variable]
		for i, x := range v.Shared {
			if s.Scalars[x.Name] != nil {
				continue
			}
			t := tensor.New(x.DType)
			if err := s.read(ctx, number, 1+len(v.Slots)+i, 0, t.Bytes); err != nil {
				return err
			}
			s.Scalars[x.Name] = t
		}
	}
	return nil
}

// read reads bytes of a field.
func (s *Snapshot) read(ctx context.Context, unit, field, offset int, dst []byte) error {
	ctx, cancel := s.c.deadline(ctx)
	defer cancel()
	server := s.p.units[unit].Server
	for len(dst) > 0 {
		n := min(len(dst), chunkBytes)
		req := &wire.SliceRequest{Id: s.ids[server], Fence: s.fence, Unit: int64(unit), Field: int64(field), Offset: int64(offset), Length: int64(n)}
		if err := s.c.retry(ctx, server, "ReadSlice", func() error { return s.slice(ctx, server, req, dst[:n]) }); err != nil {
			return err
		}
		dst, offset = dst[n:], offset+n
	}
	return nil
}

func (s *Snapshot) slice(ctx context.Context, server int, req *wire.SliceRequest, dst []byte) error {
	task := s.c.c.Servers[server]
	f, err := s.c.c.Client.Call(ctx, task, methodName("ReadSlice"), &cluster.Frame{Header: wire.Encode(req)})
	if err != nil {
		return explain(task, err)
	}
	defer f.Release()
	if f.Len() != len(dst) {
		return explain(task, fmt.Errorf("%d bytes of a checkpoint, expected %d", f.Len(), len(dst)))
	}
	f.CopyTo(dst, 0)
	return nil
}

// Read returns the part's value. Each part may be read once, in the order of
// Snapshot.Parts, before Close.
func (x Part) Read(ctx context.Context) (*tensor.Tensor, error) {
	shape := x.Type.Shape.At(0)
	if len(shape) > 0 {
		shape[0] = x.Rows
	}
	t := tensor.New(x.Type.DType, shape...)
	if err := x.s.read(ctx, x.unit, x.field, x.offset, t.Bytes); err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", x.Name, err)
	}
	return t, nil
}

// Close makes the servers forget the snapshot.
func (s *Snapshot) Close() error {
	ctx, cancel := cluster.WithTimeout(context.Background(), s.c.c.Timeout)
	defer cancel()
	return s.release(ctx)
}

// release drops the snapshot on all servers; restarted servers have none.
func (s *Snapshot) release(ctx context.Context) error {
	return s.c.each(func(i int) error {
		if err := s.c.ask(ctx, i, "Release", s.request(i), &wire.Empty{}); !errors.Is(err, ErrReset) {
			return err
		}
		return nil
	})
}

// abandonTime bounds the clean-up after a failed snapshot; servers that are not
// reached do it on their own when their lease ends.
const abandonTime = 2 * time.Second

// abandon releases the resources of a failed snapshot.
func (s *Snapshot) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
	defer cancel()
	if err := s.release(ctx); err != nil {
		s.c.c.Log.Warn("a checkpoint that failed could not be released", "error", err)
	}
}
