package ps

import (
	"errors"
	"io"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/distribute/cluster"
	"github.com/goestimator/goestimator/models/optimizers"
)

// incoming is an entry of a push with its memory.
type incoming struct {
	entry
	u *unit
	gradient
	numbers []byte // what ids is a view of
}

// prepare checks a push's entries and makes room for them.
func (s *session) prepare(h *pushHeader) ([]*incoming, error) {
	bad := func(format string, args ...any) ([]*incoming, error) {
		return nil, status.Errorf(codes.InvalidArgument, format, args...)
	}
	if h.step < 0 || !(h.weight >= 0) || math.IsInf(h.weight, 0) || h.client == 0 {
		return bad("push of step %d with weight %g: expected a step >= 0 and a finite weight >= 0", h.step, h.weight)
	}
	seen := map[int]bool{}
	var all []*incoming
	for _, e := range h.entries {
		u, err := s.unit(e.unit)
		if err != nil {
			return nil, err
		}
		switch {
		case seen[e.unit]:
			return bad("part %d of %s is there twice", u.Part, u.v.Name)
		case e.kind > assignment:
			return bad("entry of kind %d", e.kind)
		case e.kind != assignment && u.train == nil:
			return bad("variable %s has no optimizer: it takes assignments alone", u.v.Name)
		case e.kind == sparseGradient && len(u.shape) == 0:
			return bad("variable %s is a scalar: expected a dense gradient", u.v.Name)
		case e.kind == sparseGradient && (e.rows < 0 || e.rows > u.shape[0]):
			return bad("%d rows of %s, which has %d here", e.rows, u.v.Name, u.shape[0])
		case math.IsNaN(e.scale) || math.IsInf(e.scale, 0) || !(e.clip >= 0):
			return bad("gradient of %s: scale %g, clip %g", u.v.Name, e.scale, e.clip)
		}
		seen[e.unit] = true
		all = append(all, &incoming{entry: e, u: u})
	}
	for _, in := range all {
		in.makeRoom()
	}
	return all, nil
}

// makeRoom takes memory for the entry's values and row numbers.
func (in *incoming) makeRoom() {
	if in.kind != sparseGradient {
		in.values = in.u.takeBuffer()
	} else {
		in.sparse = true
		in.numbers = takeScratch(4 * in.rows)
		in.ids = int32s(in.numbers)
		in.values = takeScratch(in.rows * in.u.v.rowBytes())
	}
}

// free gives the memory back.
func (in *incoming) free() {
	switch {
	case in.kind == sparseGradient:
		giveScratch(in.values)
		giveScratch(in.numbers)
	case in.values != nil:
		in.u.giveBuffer(in.values)
	}
	in.values, in.ids, in.numbers = nil, nil, nil
}

func freeAll(all []*incoming) {
	for _, in := range all {
		in.free()
	}
}

// takeBuffer returns memory of the size of the value.
func (u *unit) takeBuffer() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.images.take()
}

func (u *unit) giveBuffer(b []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.images.give(b)
}

// receive reads the bodies of the entries and the tally; the push's end is left.
func receive(in *body, all []*incoming, h *pushHeader) (*optimizers.Tally, error) {
	for _, x := range all {
		if _, err := io.ReadFull(in, x.numbers); err != nil {
			return nil, err
		}
		if err := fillFrom(in, x.values, h.transfer, x.u.v.DType); err != nil {
			return nil, err
		}
		if err := x.finish(); err != nil {
			return nil, err
		}
	}
	return in.tally(h.tally)
}

// finish checks the row numbers and applies scale and bound.
func (in *incoming) finish() error {
	last := int32(-1)
	for _, id := range in.ids {
		if id <= last || int(id) >= in.u.shape[0] {
			return status.Errorf(codes.InvalidArgument, "row %d behind row %d of %s, which has %d here: expected increasing ones", id, last, in.u.v.Name, in.u.shape[0])
		}
		last = id
	}
	if in.kind != assignment {
		rescale(in.u.v.DType, in.values, in.scale, in.clip)
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
func (b *body) end(m *pushEnd) error {
	if b.m != nil && b.m.Len() > 0 {
		return status.Error(codes.InvalidArgument, errBody.Error())
	}
	if err := b.next(); err != nil {
		return err
	}
	return parse(b.m.Header, m)
}
