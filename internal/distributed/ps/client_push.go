package ps

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Gradient is the gradient of the loss by one variable.
type Gradient struct {
	Variable string
	Value    *tensor.Tensor // of the variable's type: of its shape or, with IDs, [len(IDs), rest of its shape]
	IDs      []int64        // the rows that a sparse gradient is of; equal ones are summed. Nil: dense
	// Lookup tells gradients of one variable apart, which the clip of a
	// synchronous plan is to see one beside the other; other plans take one alone, 0.
	Lookup int
	// Apart says that the clip must see each row by itself, also rows of equal ids.
	Apart bool
}

// Assignment is a new value of a variable, such as an average of batch
// normalization.
type Assignment struct {
	Variable string
	Value    *tensor.Tensor
}

// Push is what one worker's step brings.
type Push struct {
	Step      int64 // the global step of the values that the gradients were computed with
	Gradients []Gradient
	Assign    []Assignment // asynchronous: the last counts; synchronous: the mean
	// Tally is what a step function collected at these values.
	Tally *optimizers.Tally
	// Weight is the share of these gradients in a synchronous step's mean, such as
	// the number of rows of the batch; 0 takes part without weight.
	Weight float64
	// Position is the place of the worker's input behind the batch; it becomes
	// part of checkpoints together with the gradients. Nil: unchanged.
	Position []byte
	// Into, where set, is brought up to date by the answers, as by a Pull that
	// follows at once. It is for asynchronous plans.
	Into *Mirror
}

// Reply is the outcome of a Push.
type Reply struct {
	Progress
	// Stale tells that the gradients were too old and were dropped. In synchronous
	// plans that is so too where enough others had come: WaitStep, pull, go on.
	Stale bool
	// Pulled tells that the mirror of the push was brought up to date.
	Pulled bool
}

// Push brings gradients to all servers, server 0 last. The clip of a
// synchronous plan's rules is done on the mean over workers. A push
// whose answer got lost is sent again until ctx ends, and used once.
// Asynchronous plans count it as a step; synchronous ones when enough have
// come: see WaitStep. Tensors are not changed and may be reused afterwards.
func (c *Client) Push(ctx context.Context, x Push) (Reply, error) { return c.push(ctx, x, nil) }

// push brings a push, or an update where something is added or there is nothing but assignments.
func (c *Client) push(ctx context.Context, x Push, u *additions) (Reply, error) {
	p, ids, err := c.connection()
	if err != nil {
		return Reply{}, err
	}
	out := &outgoing{c: c, p: p, Push: x, update: u, parts: make([]outgoingPart, p.Servers), ask: u == nil && (p.Sync != nil || p.Staleness > 0)}
	if err := out.prepare(); err != nil {
		return Reply{}, err
	}
	if err := out.want(ids); err != nil {
		return Reply{}, err
	}
	c.mu.Lock()
	c.sequence++
	out.sequence = c.sequence
	c.mu.Unlock()
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return out.send(ctx, ids, cancel)
}

// outgoing is a push on its way.
type outgoing struct {
	Push
	update   *additions // nil: a step
	c        *Client
	p        *Plan
	ask      bool
	sequence uint64
	parts    []outgoingPart // by server
	got      *arrivals      // nil: nothing is pulled
}

// outgoingPart is the share of one server: segments follow each other in the body.
type outgoingPart struct {
	entries  []entry
	want     []have
	segments []segment
}

// segment is bytes as they travel, or rows [lo, hi) that are summed on the way.
type segment struct {
	bytes  []byte
	rows   *sparseRows
	lo, hi int
}

// prepare cuts all values into the shares of the servers.
func (o *outgoing) prepare() error {
	for _, g := range o.Gradients {
		v, err := o.check(g)
		if err != nil {
			return err
		}
		e := entry{lookup: g.Lookup}
		if g.IDs == nil {
			o.add(v, g.Value.Bytes, e)
			continue
		}
		e.kind = sparseGradient
		var d *distinct
		if g.Apart {
			e.kind, d = rowsApart, newSorted(g.IDs)
		} else {
			d = o.c.known.distinct(g.Variable, g.IDs)
		}
		if err := checkRows(&o.p.Variables[v], d.unique); err != nil {
			return err
		}
		o.addRows(v, newSparseRows(&o.p.Variables[v], g, d), e)
	}
	if err := o.addValues(o.Assign, assignment); err != nil {
		return err
	}
	if o.update != nil {
		return o.addValues(o.update.list, addition)
	}
	return o.addTally()
}

// addValues adds values of whole variables.
func (o *outgoing) addValues(list []Assignment, kind wire.EntryKind) error {
	for _, a := range list {
		v, ok := o.p.Index(a.Variable)
		if !ok {
			return fmt.Errorf("no variable %s in the plan", a.Variable)
		}
		if x := &o.p.Variables[v]; a.Value == nil || a.Value.DType != x.DType || !slices.Equal(a.Value.Shape, x.Shape) {
			return fmt.Errorf("assignment to %s: expected a value of %v%v", x.Name, x.DType, x.Shape)
		}
		o.add(v, a.Value.Bytes, entry{kind: kind})
	}
	return nil
}

// want asks for the values that are to come with the answers.
func (o *outgoing) want(ids []*wire.SessionID) error {
	if o.Into == nil || o.p.Sync != nil {
		return nil
	}
	want, err := o.Into.wanted(o.p, ids)
	if err != nil {
		return err
	}
	for i := range want {
		o.parts[i].want = want[i]
	}
	o.got = &arrivals{p: o.p, m: o.Into}
	return nil
}

// check returns the variable of a gradient that fits it.
func (o *outgoing) check(g Gradient) (int, error) {
	i, ok := o.p.Index(g.Variable)
	if !ok {
		return 0, fmt.Errorf("no variable %s in the plan", g.Variable)
	}
	v := &o.p.Variables[i]
	if v.Group < 0 {
		return 0, fmt.Errorf("variable %s has no optimizer: assign to it", v.Name)
	}
	if kind, _ := o.p.Rules.clip(); kind == "" && (g.Lookup != 0 || g.Apart) {
		return 0, fmt.Errorf("gradient of %s: lookup %d of it, rows apart %v: without a clip on the servers, expected one gradient, of summed rows", v.Name, g.Lookup, g.Apart)
	}
	want := v.Shape
	if g.IDs != nil {
		if len(v.Shape) == 0 {
			return 0, fmt.Errorf("gradient of %s: expected a dense one of a scalar", v.Name)
		}
		want = append([]int{len(g.IDs)}, v.Shape[1:]...)
	}
	if g.Value == nil || g.Value.DType != v.DType || !slices.Equal(g.Value.Shape, want) {
		return 0, fmt.Errorf("gradient of %s: expected a value of %v%v", v.Name, v.DType, want)
	}
	return i, nil
}

// checkRows refuses rows that the variable does not have; ids are sorted.
func checkRows(v *Variable, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range []int64{ids[0], ids[len(ids)-1]} {
		if id < 0 || id >= int64(v.rows()) {
			return fmt.Errorf("gradient of %s%v: row %d: expected 0 to %d", v.Name, v.Shape, id, v.rows()-1)
		}
	}
	return nil
}

// add adds a whole value.
func (o *outgoing) add(variable int, value []byte, e entry) {
	size := o.p.Variables[variable].rowBytes()
	lo, hi := o.p.unitsOf(variable)
	for i := lo; i < hi; i++ {
		u := o.p.units[i]
		e.unit = i
		o.put(u, e, segment{bytes: o.wire(variable, value[u.Lo*size:u.Hi*size])})
	}
}

// addRows adds a sparse gradient: every part gets its rows, or none, as the
// state of some rules changes anyway.
func (o *outgoing) addRows(variable int, r *sparseRows, e entry) {
	v := &o.p.Variables[variable]
	size := v.rowBytes()
	lo, hi := o.p.unitsOf(variable)
	from, all := 0, r.d.unique
	for i := lo; i < hi; i++ {
		u := o.p.units[i]
		e.unit = i
		to := from + sort.Search(len(all)-from, func(k int) bool { return all[from+k] >= int64(u.Hi) })
		local := make([]int32, to-from)
		for k, id := range all[from:to] {
			local[k] = int32(id - int64(u.Lo))
		}
		e.rows = len(local)
		ids := tensor.Tensor{}
		if t, err := tensor.FromSlice(local, len(local)); err == nil { // the length fits
			ids = *t
		}
		values := segment{rows: r, lo: from, hi: to}
		if r.d.order == nil {
			values = segment{bytes: o.wire(variable, r.values[from*size:to*size])}
		}
		o.put(u, e, segment{bytes: ids.Bytes}, values)
		from = to
	}
}

func (o *outgoing) put(u Unit, e entry, segments ...segment) {
	part := &o.parts[u.Server]
	part.entries = append(part.entries, e)
	part.segments = append(part.segments, segments...)
}

// wire returns values as they travel.
func (o *outgoing) wire(variable int, b []byte) []byte {
	t := transfer(o.c.c.Transfer)
	if !t.half(o.p.Variables[variable].DType) {
		return b
	}
	out := make([]byte, len(b)/2)
	t.narrow(out, b)
	return out
}
