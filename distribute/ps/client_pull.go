package ps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/goestimator/goestimator/distribute/cluster"
	"github.com/goestimator/goestimator/internal/graph"
)

// reason returns the error that the server ended a stream with, where sending
// says no more than that it ended.
func reason(st cluster.ClientStream, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	for {
		f, recvErr := st.Recv()
		if recvErr != nil {
			if errors.Is(recvErr, io.EOF) {
				return err
			}
			return recvErr
		}
		f.Release()
	}
}

// Mirror is a copy of whole variables with the versions that it holds, so that
// parts that have not changed are not sent again. Its methods and a Pull into
// it exclude each other.
type Mirror struct {
	tensors map[string]*graph.Tensor
	names   []string
	session uint64
	have    map[int]uint64 // versions by unit
}

// NewMirror returns a copy, of zeros until the first Pull, of the named
// variables of a plan; without names, of all.
func NewMirror(p *Plan, names ...string) (*Mirror, error) {
	if len(names) == 0 {
		for _, v := range p.Variables {
			names = append(names, v.Name)
		}
	}
	m := &Mirror{tensors: map[string]*graph.Tensor{}, names: slices.Clone(names), have: map[int]uint64{}}
	for _, n := range names {
		i, ok := p.Index(n)
		if !ok {
			return nil, fmt.Errorf("no variable %s in the plan", n)
		}
		m.tensors[n] = graph.NewTensor(p.Variables[i].DType, p.Variables[i].Shape...)
	}
	return m, nil
}

// Tensor returns the copy of a variable, nil where the mirror has none of that
// name. The next Pull changes its contents, never the tensor.
func (m *Mirror) Tensor(name string) *graph.Tensor { return m.tensors[name] }

// Names returns the names of the variables.
func (m *Mirror) Names() []string { return m.names }

// Pull brings a mirror up to date. After an error its values may be of
// different versions, until the next Pull.
func (c *Client) Pull(ctx context.Context, m *Mirror) (Progress, error) {
	p, ids, err := c.joined()
	if err != nil {
		return Progress{}, err
	}
	if m.session != ids[0].session {
		m.session = ids[0].session
		clear(m.have)
	}
	requests := make([]pullRequest, p.Servers)
	for _, name := range m.names {
		v, ok := p.Index(name)
		if !ok || !slices.Equal(m.tensors[name].Shape, p.Variables[v].Shape) {
			return Progress{}, fmt.Errorf("mirror of %s%v: the session's plan has another variable", name, m.tensors[name].Shape)
		}
		lo, hi := p.unitsOf(v)
		for i := lo; i < hi; i++ {
			r := &requests[p.units[i].Server]
			r.want = append(r.want, have{i, m.have[i]})
		}
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var now Progress
	got := &arrivals{p: p, m: m}
	err = c.each(func(i int) error {
		if i > 0 && len(requests[i].want) == 0 {
			return nil
		}
		requests[i].ident, requests[i].transfer = ids[i], transfer(c.c.Transfer)
		return c.retry(ctx, i, "Pull", func() error {
			end, err := c.pullFrom(ctx, i, &requests[i], got)
			if i == 0 {
				now = end.export()
			}
			return err
		})
	})
	return now, err
}

// arrivals puts what several servers send in its place.
type arrivals struct {
	p  *Plan
	m  *Mirror
	mu sync.Mutex // of m.have
}

func (c *Client) pullFrom(ctx context.Context, server int, req *pullRequest, got *arrivals) (progress, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	task := c.c.Servers[server]
	st, err := c.c.Client.Stream(ctx, task, methodName("Pull"))
	if err != nil {
		return progress{}, explain(task, err)
	}
	if err := st.Send(&cluster.Frame{Header: encode(req)}); err != nil {
		return progress{}, explain(task, reason(st, err))
	}
	for {
		f, err := st.Recv()
		if err != nil {
			return progress{}, explain(task, err)
		}
		var h pullFrame
		err = decode(f.Header, &h)
		if err == nil && h.unit >= 0 {
			err = got.put(&h, f, req.transfer)
		}
		f.Release()
		if err != nil {
			return progress{}, explain(task, err)
		}
		if h.unit < 0 {
			return h.progress, nil
		}
	}
}

// put copies a frame's bytes to their place.
func (a *arrivals) put(h *pullFrame, f *cluster.Frame, t transfer) error {
	if h.unit >= len(a.p.units) {
		return fmt.Errorf("part %d does not exist", h.unit)
	}
	u := a.p.units[h.unit]
	v := &a.p.Variables[u.Variable]
	dst := a.m.tensors[v.Name]
	if dst == nil {
		return fmt.Errorf("part %d was not asked for", h.unit)
	}
	size := v.rowBytes()
	part := dst.Bytes[u.Lo*size : u.Hi*size]
	n := f.Len()
	if t.half(v.DType) {
		n *= 2
	}
	if h.offset < 0 || h.offset > len(part) || n > len(part)-h.offset {
		return fmt.Errorf("bytes %d to %d of part %d of %s do not exist", h.offset, h.offset+n, u.Part, v.Name)
	}
	fillFrom(f, part[h.offset:h.offset+n], t, v.DType)
	if h.offset+n == len(part) {
		a.mu.Lock()
		a.m.have[h.unit] = h.version
		a.mu.Unlock()
	}
	return nil
}

// fillFrom copies a frame's body into dst, widening it where it is of two-byte values.
func fillFrom(f *cluster.Frame, dst []byte, t transfer, d graph.DType) {
	raw := dst[len(dst)-t.size(d, len(dst)):]
	f.CopyTo(raw, 0)
	if len(raw) < len(dst) {
		t.widen(dst, raw)
	}
}

// Rows asks for rows of a variable.
type Rows struct {
	Variable string
	IDs      []int64       // along axis 0, in any order, equal ones too
	Into     *graph.Tensor // of shape [len(IDs), rest of the variable's shape]
}

// PullRows fetches rows; each row of a variable is sent once, however often it
// is asked for.
func (c *Client) PullRows(ctx context.Context, rows ...Rows) (Progress, error) {
	p, ids, err := c.joined()
	if err != nil {
		return Progress{}, err
	}
	requests := make([]*rowsCall, p.Servers)
	for i := range requests {
		requests[i] = &rowsCall{req: rowsRequest{ident: ids[i], transfer: transfer(c.c.Transfer)}}
	}
	wanted := make([]*wantedRows, len(rows))
	for i, r := range rows {
		if wanted[i], err = newWanted(p, r); err != nil {
			return Progress{}, err
		}
		wanted[i].split(p, requests)
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var now Progress
	err = c.each(func(i int) error {
		if i > 0 && len(requests[i].req.want) == 0 {
			return nil
		}
		return c.retry(ctx, i, "PullRows", func() error {
			r := *requests[i] // it counts what has come
			r.into = slices.Clone(r.into)
			end, err := c.rowsFrom(ctx, i, &r)
			if i == 0 {
				now = end.export()
			}
			return err
		})
	})
	if err != nil {
		return now, err
	}
	for _, w := range wanted {
		w.spread()
	}
	return now, nil
}

// wantedRows is one Rows without repetitions.
type wantedRows struct {
	Rows
	v      *Variable
	first  int     // unit
	unique []int64 // increasing
	index  []int32 // of each ID in unique; nil where they are the same
	values []byte  // of unique
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
	w := &wantedRows{Rows: r, v: v, first: p.first[i]}
	w.unique, w.index = Unique(r.IDs)
	if n := len(w.unique); n > 0 && (w.unique[0] < 0 || w.unique[n-1] >= int64(v.rows())) {
		return nil, fmt.Errorf("rows %d to %d of %s%v: expected 0 to %d", w.unique[0], w.unique[n-1], v.Name, v.Shape, v.rows()-1)
	}
	w.values = r.Into.Bytes
	if w.index != nil {
		w.values = takeScratch(len(w.unique) * v.rowBytes())
	}
	return w, nil
}

// split puts the rows into the requests to the servers that have them.
func (w *wantedRows) split(p *Plan, requests []*rowsCall) {
	size := w.v.rowBytes()
	eachPart(p, w.first, w.unique, func(unit, lo, hi int) {
		u := p.units[unit]
		r := requests[u.Server]
		r.req.want = append(r.req.want, rowCount{unit, hi - lo})
		for _, id := range w.unique[lo:hi] {
			r.ids = append(r.ids, int32(id-int64(u.Lo)))
		}
		r.into = append(r.into, rowsInto{w.v.DType, w.values[lo*size : hi*size]})
	})
}

// eachPart calls f for the units that hold some of the increasing ids, with
// their range among the ids.
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

// spread copies the unique rows to where they were asked for.
func (w *wantedRows) spread() {
	if w.index == nil {
		return
	}
	size := w.v.rowBytes()
	for i, k := range w.index {
		copy(w.Into.Bytes[i*size:(i+1)*size], w.values[int(k)*size:])
	}
	giveScratch(w.values)
	w.values = nil
}

// rowsCall is a request for rows to one server, and where they go.
type rowsCall struct {
	req  rowsRequest
	ids  []int32
	into []rowsInto
}

type rowsInto struct {
	dtype graph.DType
	dst   []byte
}

func (c *Client) rowsFrom(ctx context.Context, server int, r *rowsCall) (progress, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	task := c.c.Servers[server]
	st, err := c.c.Client.Stream(ctx, task, methodName("PullRows"))
	if err != nil {
		return progress{}, explain(task, err)
	}
	ids, err := graph.FromSlice(r.ids, len(r.ids))
	if err != nil {
		return progress{}, err
	}
	if err := st.Send(&cluster.Frame{Header: encode(&r.req), Body: [][]byte{ids.Bytes}}); err != nil {
		return progress{}, explain(task, reason(st, err))
	}
	for {
		f, err := st.Recv()
		if err != nil {
			return progress{}, explain(task, err)
		}
		var h pullFrame
		err = decode(f.Header, &h)
		if err == nil && h.unit >= 0 {
			err = r.put(f)
		}
		f.Release()
		if err != nil {
			return progress{}, explain(task, err)
		}
		if h.unit < 0 {
			if len(r.into) > 0 {
				return h.progress, explain(task, errors.New("rows are missing in the answer"))
			}
			return h.progress, nil
		}
	}
}

// put copies a frame of rows to the next place.
func (r *rowsCall) put(f *cluster.Frame) error {
	if len(r.into) == 0 {
		return errors.New("more rows than were asked for")
	}
	x := &r.into[0]
	n := f.Len()
	if r.req.transfer.half(x.dtype) {
		n *= 2
	}
	if n == 0 || n > len(x.dst) {
		return fmt.Errorf("%d bytes of rows, expected at most %d", n, len(x.dst))
	}
	fillFrom(f, x.dst[:n], r.req.transfer, x.dtype)
	if x.dst = x.dst[n:]; len(x.dst) == 0 {
		r.into = r.into[1:]
	}
	return nil
}
