package ps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// reason returns the error with which the server ended a stream, if sending reports
// only that it ended.
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

// Mirror is a copy of whole variables with their versions, so that unchanged parts
// are not sent again. Its methods and a Pull into it must not run concurrently.
type Mirror struct {
	tensors map[string]*tensor.Tensor
	names   []string
	session uint64
	have    map[int]uint64 // versions by unit

	versions map[string]uint64 // sums of have
}

// NewMirror returns a copy, of zeros until the first Pull, of the named
// variables of a plan; without names, of all.
func NewMirror(p *Plan, names ...string) (*Mirror, error) {
	if len(names) == 0 {
		for _, v := range p.Variables {
			names = append(names, v.Name)
		}
	}
	m := &Mirror{tensors: map[string]*tensor.Tensor{}, names: slices.Clone(names), have: map[int]uint64{}, versions: map[string]uint64{}}
	for _, n := range names {
		i, ok := p.Index(n)
		if !ok {
			return nil, fmt.Errorf("no variable %s in the plan", n)
		}
		m.tensors[n] = tensor.New(p.Variables[i].DType, p.Variables[i].Shape...)
	}
	return m, nil
}

// Tensor returns the copy of a variable, nil if the mirror has none of that name.
// The next Pull changes its contents, never the tensor.
func (m *Mirror) Tensor(name string) *tensor.Tensor { return m.tensors[name] }

// Names returns the names of the variables.
func (m *Mirror) Names() []string { return m.names }

// Version changes with the value of a variable, as long as the client's session is
// the same; 0: not pulled yet.
func (m *Mirror) Version(name string) uint64 { return m.versions[name] }

// Pull updates a mirror. After an error its values may have different versions,
// until the next Pull.
func (c *Client) Pull(ctx context.Context, m *Mirror) (Progress, error) {
	p, ids, err := c.connection()
	if err != nil {
		return Progress{}, err
	}
	want, err := m.wanted(p, ids)
	if err != nil {
		return Progress{}, err
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var now Progress
	got := &arrivals{p: p, m: m}
	err = c.each(func(i int) error {
		if i > 0 && len(want[i]) == 0 {
			return nil
		}
		return c.retry(ctx, i, "Pull", func() error {
			end, err := c.pullFrom(ctx, i, &wire.PullRequest{Id: ids[i], Transfer: wire.Transfer(c.c.Transfer), Want: versions(want[i])}, got)
			if i == 0 {
				now = end
			}
			return err
		})
	})
	return now, err
}

// wanted returns the parts of the variables by server, with the mirror's versions.
func (m *Mirror) wanted(p *Plan, ids []*wire.SessionID) ([][]have, error) {
	if m.session != ids[0].Session {
		m.session = ids[0].Session
		clear(m.have)
		clear(m.versions)
	}
	want := make([][]have, p.Servers)
	for _, name := range m.names {
		v, ok := p.Index(name)
		if !ok || !slices.Equal(m.tensors[name].Shape, p.Variables[v].Shape) {
			return nil, fmt.Errorf("mirror of %s%v: the session's plan has another variable", name, m.tensors[name].Shape)
		}
		lo, hi := p.unitsOf(v)
		for i := lo; i < hi; i++ {
			server := p.units[i].Server
			want[server] = append(want[server], have{i, m.have[i]})
		}
	}
	return want, nil
}

// arrivals stores the values that several servers send.
type arrivals struct {
	p  *Plan
	m  *Mirror
	mu sync.Mutex // of m.have
}

func (c *Client) pullFrom(ctx context.Context, server int, req *wire.PullRequest, got *arrivals) (end Progress, err error) {
	err = c.exchange(ctx, server, "Pull", func(st cluster.ClientStream) error {
		if err := st.Send(&cluster.Frame{Header: wire.Encode(req)}); err != nil {
			return err
		}
		end, err = eachFrame(st, func(h *wire.PullFrame, m *cluster.Message) error { return got.put(h, m, transfer(req.Transfer)) })
		return err
	})
	return end, err
}

// eachFrame calls put for the frames of an answer up to its end.
func eachFrame(st cluster.Stream, put func(*wire.PullFrame, *cluster.Message) error) (Progress, error) {
	for {
		m, err := cluster.Next(st)
		if err != nil {
			return Progress{}, err
		}
		var h wire.PullFrame
		if err := wire.Decode(m.Header, &h); err != nil {
			return Progress{}, err
		}
		if h.End == nil || m.Len() > 0 {
			if err := put(&h, m); err != nil {
				return Progress{}, err
			}
		}
		if h.End != nil {
			return progressOf(h.End), nil
		}
	}
}

// put reads the bytes of a frame into place.
func (a *arrivals) put(h *wire.PullFrame, f *cluster.Message, t transfer) error {
	if h.Unit < 0 || h.Unit >= int64(len(a.p.units)) {
		return fmt.Errorf("part %d does not exist", h.Unit)
	}
	u := a.p.units[h.Unit]
	v := &a.p.Variables[u.Variable]
	dst := a.m.tensors[v.Name]
	if dst == nil {
		return fmt.Errorf("part %d was not asked for", h.Unit)
	}
	size := v.rowBytes()
	part := dst.Bytes[u.Lo*size : u.Hi*size]
	n := f.Len()
	if t.half(v.DType) {
		n *= 2
	}
	at := int(h.Offset)
	if at < 0 || at > len(part) || n > len(part)-at {
		return fmt.Errorf("bytes %d to %d of part %d of %s do not exist", at, at+n, u.Part, v.Name)
	}
	if err := fillFrom(f, part[at:at+n], t, v.DType); err != nil {
		return err
	}
	if at+n == len(part) {
		a.mu.Lock()
		a.m.versions[v.Name] += h.Version - a.m.have[int(h.Unit)]
		a.m.have[int(h.Unit)] = h.Version
		a.mu.Unlock()
	}
	return nil
}

// fillFrom reads the next bytes of a body into dst, and widens two-byte values:
// those are read into the upper half of dst, which widen then overwrites from below
// and never ahead of what it reads.
func fillFrom(r io.Reader, dst []byte, t transfer, d tensor.DType) error {
	raw := dst[len(dst)-t.size(d, len(dst)):]
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	if len(raw) < len(dst) {
		t.widen(dst, raw)
	}
	return nil
}
