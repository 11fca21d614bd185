package ps

import (
	"errors"
	"io"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// incoming is an entry of a push with its memory.
type incoming struct {
	entry
	u *unit
	gradient
	numbers []byte // memory of ids
	more    bool   // larger than the unit's bound: see grown
}

// place is a lookup of a unit: gradients of one place make a mean.
type place struct {
	u      *unit
	lookup int
}

// prepare checks a push's entries and allocates their memory.
func (s *session) prepare(h *wire.PushHeader) ([]*incoming, error) {
	bad := func(format string, args ...any) ([]*incoming, error) {
		return nil, status.Errorf(codes.InvalidArgument, format, args...)
	}
	if h.Step < 0 || !(h.Weight >= 0) || math.IsInf(h.Weight, 0) || h.Client == 0 {
		return bad("push of step %d with weight %g: expected a step >= 0 and a finite weight >= 0", h.Step, h.Weight)
	}
	kind, _ := s.plan.Rules.clip()
	seen, units := map[place]bool{}, map[int]wire.EntryKind{}
	entries, err := entriesOf(h.Entries)
	if err != nil {
		return nil, err
	}
	var all []*incoming
	for _, e := range entries {
		u, err := s.unit(e.unit)
		if err != nil {
			return nil, err
		}
		before, again := units[e.unit]
		switch {
		case seen[place{u, e.lookup}], again && (e.value() || before == assignment || before == addition):
			return bad("part %d of %s is there twice", u.Part, u.v.Name)
		case e.kind < 0 || e.kind > addition:
			return bad("entry of kind %d", e.kind)
		case h.Update && !e.value() || !h.Update && e.kind == addition:
			return bad("%s: entry of kind %d: expected additions in updates alone, and no gradients there", u.v.Name, e.kind)
		case e.kind == addition && u.v.DType != tensor.Float64:
			return bad("variable %s is of %v: expected float64 to add to", u.v.Name, u.v.DType)
		case !e.value() && u.train == nil:
			return bad("variable %s has no optimizer: it takes assignments alone", u.v.Name)
		case e.lookup != 0 && (kind == "" || e.value() || e.lookup < 0), e.kind == rowsApart && kind == "":
			return bad("lookup %d of %s by itself: expected that of a gradient that is clipped here", e.lookup, u.v.Name)
		case e.sparse() && len(u.shape) == 0:
			return bad("variable %s is a scalar: expected a dense gradient", u.v.Name)
		case e.sparse() && (e.rows < 0 || e.kind == sparseGradient && e.rows > u.shape[0] || e.rows > math.MaxInt32):
			return bad("%d rows of %s, which has %d here", e.rows, u.v.Name, u.shape[0])
		}
		seen[place{u, e.lookup}], units[e.unit] = true, e.kind
		all = append(all, &incoming{entry: e, u: u, more: again || e.kind == rowsApart})
	}
	for _, in := range all {
		in.makeRoom()
	}
	return all, nil
}

// makeRoom allocates memory for the entry's values and row numbers: at most the
// unit's size, and none yet if it may be more.
func (in *incoming) makeRoom() {
	in.gradient.sparse, in.apart = in.entry.sparse(), in.kind == rowsApart
	switch {
	case in.more:
	case in.gradient.sparse:
		in.numbers = acquireScratch(4 * in.rows)
		in.values = acquireScratch(in.rows * in.u.v.rowBytes())
	default:
		in.values = in.u.acquireBuffer()
	}
}

// read reads the entry's row numbers and values.
func (in *incoming) read(from io.Reader, t transfer) (err error) {
	d, n, size := in.u.v.DType, 0, in.u.field[0].bytes
	if in.gradient.sparse {
		n, size = 4*in.rows, in.rows*in.u.v.rowBytes()
	}
	numbers := func(dst []byte) error {
		_, err := io.ReadFull(from, dst)
		return err
	}
	values := func(dst []byte) error { return fillFrom(from, dst, t, d) }
	if in.more {
		if in.numbers, err = grown(n, numbers); err == nil {
			in.values, err = grown(size, values)
		}
	} else if err = numbers(in.numbers); err == nil {
		err = values(in.values)
	}
	if err != nil {
		return err
	}
	in.ids = int32s(in.numbers)
	return in.finish()
}

// firstRoom is how much memory grown allocates before it has received data.
const firstRoom = 1 << 16

// grown returns n bytes that fill reads, piece by piece. It never allocates more
// than twice the received bytes, since nothing else bounds n.
func grown(n int, fill func([]byte) error) ([]byte, error) {
	b := acquireScratch(min(n, firstRoom))
	for have := 0; ; {
		if err := fill(b[have:]); err != nil {
			releaseScratch(b)
			return nil, err
		}
		if have = len(b); have == n {
			return b, nil
		}
		next := acquireScratch(min(n, 2*have))
		copy(next, b)
		releaseScratch(b)
		b = next
	}
}

// free releases the memory.
func (in *incoming) free() {
	switch {
	case in.more || in.entry.sparse():
		releaseScratch(in.values)
		releaseScratch(in.numbers)
	case in.values != nil:
		in.u.releaseBuffer(in.values)
	}
	in.values, in.ids, in.numbers = nil, nil, nil
}

func freeAll(all []*incoming) {
	for _, in := range all {
		in.free()
	}
}

// acquireBuffer returns memory of the size of the value.
func (u *unit) acquireBuffer() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.images.acquire()
}

func (u *unit) releaseBuffer(b []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.images.release(b)
}

// receive reads the bodies of the entries and the tally, but not the push's end.
func receive(in *body, all []*incoming, h *wire.PushHeader) (*optimizers.Tally, error) {
	for _, x := range all {
		if err := x.read(in, transfer(h.Transfer)); err != nil {
			return nil, err
		}
	}
	return in.tally(h.Tally)
}

// finish checks the row numbers.
func (in *incoming) finish() error {
	last := int32(-1)
	for i, id := range in.ids {
		if id < last || id == last && (i == 0 || in.kind != rowsApart) || int(id) >= in.u.shape[0] {
			return status.Errorf(codes.InvalidArgument, "row %d behind row %d of %s, which has %d here: expected increasing ones", id, last, in.u.v.Name, in.u.shape[0])
		}
		last = id
	}
	return nil
}

// body reads the bytes of several frames as one sequence.
type body struct {
	st cluster.Stream
	m  *cluster.Message
}

var errBody = errors.New("the body of a push has another length than its header says")

// Read implements io.Reader; a frame with a header ends the sequence with an error.
func (b *body) Read(dst []byte) (int, error) {
	for b.m == nil || b.m.Len() == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
		if len(b.m.Header) > 0 {
			return 0, status.Error(codes.InvalidArgument, errBody.Error())
		}
	}
	return b.m.Read(dst)
}

func (b *body) next() (err error) {
	b.m, err = cluster.Next(b.st)
	if errors.Is(err, io.EOF) {
		return status.Error(codes.InvalidArgument, errBody.Error())
	}
	return err
}

// end reads the frame with the pushEnd.
func (b *body) end(m *wire.PushEnd) error {
	if b.m != nil && b.m.Len() > 0 {
		return status.Error(codes.InvalidArgument, errBody.Error())
	}
	if err := b.next(); err != nil {
		return err
	}
	if err := parse(b.m.Header, m); err != nil {
		return err
	}
	if !m.Commit {
		return status.Error(codes.InvalidArgument, errBody.Error())
	}
	return nil
}
