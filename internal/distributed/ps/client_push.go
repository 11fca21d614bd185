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

// Gradient is the gradient of the loss for one variable.
type Gradient struct {
	Variable string
	Value    *tensor.Tensor // has the variable's type, and its shape or, with IDs, [len(IDs), rest of its shape]
	IDs      []int64        // the rows of a sparse gradient; equal ones are summed. Nil: dense
	// Lookup distinguishes gradients of one variable that the clip of a synchronous plan must
	// see separately; in other plans it is 0.
	Lookup int
	// Apart says that the clip must see each row separately, even rows with equal ids.
	Apart bool
}

// Assignment is a new value of a variable, such as an average of batch
// normalization.
type Assignment struct {
	Variable string
	Value    *tensor.Tensor
}

// Push has the results of one worker's step.
type Push struct {
	Step      int64 // the global step of the values with which the gradients were computed
	Gradients []Gradient
	Assign    []Assignment // asynchronous: the last counts; synchronous: the mean
	// Tally has the records of a step function at these values.
	Tally *optimizers.Tally
	// Weight is the weight of these gradients in a synchronous step's mean, such as the number
	// of rows of the batch; 0 takes part without weight.
	Weight float64
	// Position is the position of the worker's input after the batch; it becomes part of
	// checkpoints together with the gradients. Nil: unchanged.
	Position []byte
	// Into, if set, is updated from the answers, as by a Pull right after the push. It is for
	// asynchronous plans.
	Into *Mirror
}

// Reply is the outcome of a Push.
type Reply struct {
	Progress
	// Stale reports that the gradients were too old and were dropped. In synchronous plans this
	// also happens when enough others had arrived: WaitStep, pull, continue.
	Stale bool
	// Pulled reports that the push's mirror was updated.
	Pulled bool
}

// Push sends gradients to all servers, to server 0 last. The clip of a synchronous plan's rules
// applies to the mean over workers. A push whose answer is lost is sent again until ctx ends,
// and used once. Asynchronous plans count it as a step; synchronous ones count a step when
// enough have arrived: see WaitStep. Tensors are not changed and may be reused afterwards.
func (c *Client) Push(ctx context.Context, x Push) (Reply, error) { return c.push(ctx, x, nil) }

// push sends a push, or an update if something is added or there are only assignments.
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

// outgoing is a push that is being sent.
type outgoing struct {
	Push
	update   *additions // nil: a step
	c        *Client
	p        *Plan
	ask      bool
	sequence uint64
	parts    []outgoingPart // by server
	got      *arrivals      // nil: no values are pulled
}

// outgoingPart is the share of one server: its segments are consecutive in the body.
type outgoingPart struct {
	entries  []entry
	want     []have
	segments []segment
}

// segment is bytes in the form for sending, or rows [lo, hi) that are summed while they are sent.
type segment struct {
	bytes  []byte
	rows   *sparseRows
	lo, hi int
}

// prepare divides all values into the shares of the servers.
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

// want asks for values with the answers.
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

// check returns the index of the gradient's variable, or an error if it does not fit.
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

// addRows adds a sparse gradient: every part gets its rows, or none, since the state of some
// rules changes anyway.
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

// wire returns values in the form for sending.
func (o *outgoing) wire(variable int, b []byte) []byte {
	t := transfer(o.c.c.Transfer)
	if !t.half(o.p.Variables[variable].DType) {
		return b
	}
	out := make([]byte, len(b)/2)
	t.narrow(out, b)
	return out
}
