package ps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// Rows requests rows of a variable.
type Rows struct {
	Variable string
	IDs      []int64        // along axis 0, in any order, possibly repeated
	Into     *tensor.Tensor // of shape [len(IDs), rest of the variable's shape]
}

// PullRows fetches rows; each row of a variable is sent once, however often it
// is requested.
func (c *Client) PullRows(ctx context.Context, rows ...Rows) (Progress, error) {
	p, ids, err := c.connection()
	if err != nil {
		return Progress{}, err
	}
	requests := make([]*rowsCall, p.Servers)
	for i := range requests {
		requests[i] = &rowsCall{req: &wire.RowsRequest{Id: ids[i], Transfer: wire.Transfer(c.c.Transfer)}}
	}
	for _, r := range rows {
		w, err := newWanted(p, r)
		if err != nil {
			return Progress{}, err
		}
		c.known.record(r.Variable, w.d)
		w.split(p, requests)
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var now Progress
	err = c.each(func(i int) error {
		if i > 0 && len(requests[i].req.Unit) == 0 {
			return nil
		}
		return c.retry(ctx, i, "PullRows", func() error {
			r := *requests[i] // it counts the received rows
			r.into = slices.Clone(r.into)
			end, err := c.rowsFrom(ctx, i, &r)
			if i == 0 {
				now = end
			}
			return err
		})
	})
	return now, err
}

// wantedRows is one Rows without repetitions.
type wantedRows struct {
	Rows
	v     *Variable
	first int // unit
	d     *distinct
}

func newWanted(p *Plan, r Rows) (*wantedRows, error) {
	i, ok := p.Index(r.Variable)
	if !ok {
		return nil, fmt.Errorf("no variable %s in the plan", r.Variable)
	}
	v := &p.Variables[i]
	if len(v.Shape) == 0 || r.Into == nil || r.Into.DType != v.DType || !slices.Equal(r.Into.Shape, append([]int{len(r.IDs)}, v.Shape[1:]...)) {
		return nil, fmt.Errorf("rows of %s %v%v: expected room for %d rows of it", v.Name, v.DType, v.Shape, len(r.IDs))
	}
	d := newDistinct(slices.Clone(r.IDs)) // the ids are kept
	if n := len(d.unique); n > 0 && (d.unique[0] < 0 || d.unique[n-1] >= int64(v.rows())) {
		return nil, fmt.Errorf("rows %d to %d of %s%v: expected 0 to %d", d.unique[0], d.unique[n-1], v.Name, v.Shape, v.rows()-1)
	}
	return &wantedRows{Rows: r, v: v, first: p.first[i], d: d}, nil
}

// split adds the rows to the requests for their servers.
func (w *wantedRows) split(p *Plan, requests []*rowsCall) {
	eachPart(p, w.first, w.d.unique, func(unit, lo, hi int) {
		u := p.units[unit]
		r := requests[u.Server]
		r.req.Unit, r.req.Rows = append(r.req.Unit, int64(unit)), append(r.req.Rows, int64(hi-lo))
		r.ids = slices.Grow(r.ids, hi-lo)
		for _, id := range w.d.unique[lo:hi] {
			r.ids = append(r.ids, int32(id-int64(u.Lo)))
		}
		r.into = append(r.into, rowsInto{w, lo, hi})
	})
}

// eachPart calls f for the units that hold some of the increasing ids, with the
// range of these ids.
func eachPart(p *Plan, first int, ids []int64, f func(unit, lo, hi int)) {
	v := &p.Variables[p.units[first].Variable]
	for lo := 0; lo < len(ids); {
		unit := first + partOf(v.rows(), v.Parts, int(ids[lo]))
		end := int64(p.units[unit].Hi)
		hi := lo + sort.Search(len(ids)-lo, func(i int) bool { return ids[lo+i] >= end })
		f(unit, lo, hi)
		lo = hi
	}
}

// rowsCall is a request for rows to one server, and the destination of the rows.
type rowsCall struct {
	req  *wire.RowsRequest
	ids  []int32
	into []rowsInto
}

// rowsInto are the missing unique rows [next, end).
type rowsInto struct {
	*wantedRows
	next, end int
}

func (c *Client) rowsFrom(ctx context.Context, server int, r *rowsCall) (end Progress, err error) {
	ids, err := tensor.FromSlice(r.ids, len(r.ids))
	if err != nil {
		return Progress{}, err
	}
	err = c.exchange(ctx, server, "PullRows", func(st cluster.ClientStream) error {
		if err := st.Send(&cluster.Frame{Header: wire.Encode(r.req), Body: [][]byte{ids.Bytes}}); err != nil {
			return err
		}
		block := acquireScratch(rowBlock)
		defer func() { releaseScratch(block) }()
		end, err = eachFrame(st, func(_ *wire.PullFrame, m *cluster.Message) error { return r.put(m, &block) })
		if err == nil && len(r.into) > 0 {
			err = errors.New("rows are missing in the answer")
		}
		return err
	})
	return end, err
}

// rowBlock is how many bytes of rows are moved at a time, so that they stay in a cache.
const rowBlock = 256 << 10

// put stores the rows of a frame.
func (r *rowsCall) put(m *cluster.Message, block *[]byte) error {
	if len(r.into) == 0 {
		return errors.New("more rows than were asked for")
	}
	x := &r.into[0]
	size := x.v.rowBytes()
	t := transfer(r.req.Transfer)
	sent := t.size(x.v.DType, size)
	if n := m.Len(); sent == 0 || n == 0 || n%sent != 0 || n/sent > x.end-x.next {
		return fmt.Errorf("%d bytes of rows, expected at most %d rows of %d", n, x.end-x.next, sent)
	}
	for m.Len() > 0 {
		n := min(max(rowBlock/size, 1), m.Len()/sent)
		if x.d.order == nil { // the places are consecutive
			n = m.Len() / sent
			if err := fillFrom(m, x.Into.Bytes[x.next*size:(x.next+n)*size], t, x.v.DType); err != nil {
				return err
			}
		} else {
			rows := resizeScratch(block, n*size)
			if err := fillFrom(m, rows, t, x.v.DType); err != nil {
				return err
			}
			x.d.spread(x.Into.Bytes, rows, x.next, size)
		}
		x.next += n
	}
	if x.next == x.end {
		r.into = r.into[1:]
	}
	return nil
}
