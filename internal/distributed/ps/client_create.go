package ps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// Fill writes rows of a value, from row first on along axis 0, into dst, which has
// the value's type and its shape except for the number of rows. A scalar is written
// whole.
type Fill = func(dst *tensor.Tensor, first int) error

// State is the initial state of a session.
type State struct {
	Step int64 // the global step
	// Value returns how to fill a variable or, by its name in checkpoints, a slot
	// or shared scalar of the optimizer. For nil, a slot is initialized by its
	// rule; a variable must have a value.
	Value func(name string) Fill
	// Positions are the positions of the workers in their inputs, by rank.
	Positions map[int][]byte
	// Last is the global step at which training ends; 0: none.
	Last int64
	// Replace ends an existing session of the servers; otherwise Create is refused then.
	Replace bool
}

// chunkBytes is about how much of a value is in memory while it is created or read
// for a checkpoint.
const chunkBytes = 4 << 20

// Create begins a session: all servers create their share of the plan's variables,
// with values that are made and sent chunk by chunk. It joins the session. After an
// error there is none, and Create may be called again.
func (c *Client) Create(ctx context.Context, p *Plan, s State) error {
	status, err := c.connect(ctx, p, false)
	if err != nil && !s.Replace {
		return err
	}
	if status.Ready && !s.Replace {
		return fmt.Errorf("session %x at step %d: %w", status.Session, status.GlobalStep, ErrExists)
	}
	if len(status.Servers) != p.Servers {
		return err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	ids := make([]*wire.SessionID, p.Servers)
	session := nonZero()
	for i, x := range status.Servers {
		ids[i] = &wire.SessionID{Incarnation: x.Incarnation, Session: session}
	}
	m := &creation{c: c, p: p, State: s}
	begin := func(i int) error {
		req := &wire.CreateRequest{Id: ids[i], Server: int64(i), Step: s.Step, Replace: s.Replace, Last: s.Last, Plan: text}
		return c.ask(ctx, i, "Create", req, &wire.Empty{})
	}
	if err = begin(0); err == nil { // if two jobs begin at the same time, one gets all servers
		err = c.each(func(i int) error {
			if i > 0 {
				if err := begin(i); err != nil {
					return err
				}
			}
			return m.fill(ctx, i, ids[i])
		})
	}
	if err != nil {
		return fmt.Errorf("create variables on the parameter servers: %w", err)
	}
	for i := range slices.Backward(ids) { // workers begin with server 0
		req := &wire.ReadyRequest{Id: ids[i]}
		if i == 0 {
			for r, state := range s.Positions {
				req.Positions = append(req.Positions, &wire.Position{Rank: int64(r), State: state})
			}
		}
		if err := c.ask(ctx, i, "Ready", req, &wire.Empty{}); err != nil {
			return err
		}
	}
	c.join(p, ids)
	return nil
}

// creation sends initial values.
type creation struct {
	c *Client
	p *Plan
	State
	values sync.Mutex // Fills are called one at a time
}

// fill sends the values of one server's units.
func (m *creation) fill(ctx context.Context, server int, id *wire.SessionID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	task := m.c.c.Servers[server]
	st, err := m.c.c.Client.Stream(ctx, task, methodName("Fill"))
	if err != nil {
		return explain(task, err)
	}
	for number, u := range m.p.units {
		if u.Server != server {
			continue
		}
		if err := m.fillUnit(st, id, number); err != nil {
			return m.why(st, task, err)
		}
	}
	if err := st.CloseSend(); err != nil {
		return m.why(st, task, err)
	}
	f, err := st.Recv()
	if err != nil {
		return explain(task, err)
	}
	f.Release()
	return nil
}

// why prefers the server's own error to the error of a broken stream.
func (m *creation) why(st cluster.ClientStream, task cluster.Task, err error) error {
	return explain(task, reason(st, err))
}

// fieldsOf lists the names and types of a unit's fields: the value, slots, scalars.
func (p *Plan) fieldsOf(u Unit) (names []string, types []graph.Type) {
	v := &p.Variables[u.Variable]
	whole := graph.Type{DType: v.DType, Shape: graph.ShapeOf(v.Shape...)}
	names, types = []string{v.Name}, []graph.Type{whole}
	for _, s := range v.Slots {
		names, types = append(names, s.Name), append(types, whole)
	}
	for _, s := range v.Shared {
		names, types = append(names, s.Name), append(types, graph.Type{DType: s.DType})
	}
	return names, types
}

func (m *creation) fillUnit(st cluster.ClientStream, id *wire.SessionID, number int) error {
	u := m.p.units[number]
	v := &m.p.Variables[u.Variable]
	names, types := m.p.fieldsOf(u)
	for field, name := range names {
		m.values.Lock()
		fill := m.Value(name)
		m.values.Unlock()
		if fill == nil {
			if field == 0 {
				return fmt.Errorf("variable %s has no initial value", name)
			}
			continue
		}
		x := &filler{creation: m, st: st, header: &wire.FillHeader{Id: id, Unit: int64(number), Field: int64(field)}, fill: fill}
		if len(types[field].Shape.Dims) == 0 {
			t := tensor.New(types[field].DType)
			if err := x.send(t, 0); err != nil {
				return fmt.Errorf("value of %s: %w", name, err)
			}
			continue
		}
		step := max(chunkBytes/max(v.rowBytes(), 1), 1)
		t := tensor.New(v.DType, append([]int{min(step, u.Hi-u.Lo)}, v.Shape[1:]...)...)
		for lo := u.Lo; lo < u.Hi; lo += step {
			n := min(step, u.Hi-lo)
			part := &tensor.Tensor{DType: v.DType, Shape: append([]int{n}, v.Shape[1:]...), Bytes: t.Bytes[:n*v.rowBytes()]}
			if err := x.send(part, lo); err != nil {
				return fmt.Errorf("value of %s: %w", name, err)
			}
		}
	}
	return nil
}

// filler sends one field.
type filler struct {
	*creation
	st     cluster.ClientStream
	header *wire.FillHeader
	fill   Fill
}

// send makes rows from first on and sends them.
func (x *filler) send(t *tensor.Tensor, first int) error {
	clear(t.Bytes)
	x.values.Lock()
	err := x.fill(t, first)
	x.values.Unlock()
	if err != nil {
		return err
	}
	for b := t.Bytes; len(b) > 0; {
		n := min(len(b), frameBytes)
		if err := x.st.Send(&cluster.Frame{Header: wire.Encode(x.header), Body: [][]byte{b[:n]}}); err != nil {
			return err
		}
		x.header.Offset += int64(n)
		b = b[n:]
	}
	return nil
}
