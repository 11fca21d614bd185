package ps

import (
	"context"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// frameBytes is the size of the body of most frames.
const frameBytes = 1 << 20

// pull streams the values of units that are newer than the caller's.
func (s *Server) pull(_ context.Context, st cluster.Stream) error {
	var req wire.PullRequest
	x, err := s.open(st, &req)
	if err != nil {
		return err
	}
	t, err := transferOf(req.Transfer)
	if err != nil {
		return err
	}
	want, err := versionsOf(req.Want)
	if err != nil {
		return err
	}
	return x.sendValues(st, want, t)
}

// sendValues sends the values of units that are newer than the caller's, and then the progress.
func (s *session) sendValues(st cluster.Stream, want []have, t transfer) error {
	var scratch []byte
	if tensor.DType(t) != tensor.Float32 && len(want) > 0 {
		scratch = make([]byte, frameBytes/2)
	}
	held, err := s.function.images(want)
	if err != nil {
		return err
	}
	defer held.free()
	next := s.load(want, held)
	defer func() { next.drop() }()
	for range want {
		now := next
		next = s.load(now.rest, held) // while this one is being sent
		if err := sendImage(st, now, t, scratch); err != nil {
			return err
		}
	}
	return st.Send(&cluster.Frame{Header: wire.Encode(&wire.PullFrame{End: s.now().message()})})
}

// loading is an image that is being made, and the remaining list.
type loading struct {
	rest []have
	done chan struct{}
	u    *unit
	m    *image // nil: the caller has the version
	err  error
}

// load begins to make the image of the first wanted unit.
func (s *session) load(want []have, held heldImages) *loading {
	l := &loading{done: make(chan struct{})}
	if len(want) == 0 {
		close(l.done)
		return l
	}
	l.rest = want[1:]
	if x, ok := held.remove(want[0].unit); ok {
		l.u, l.m = x.u, x.m
		close(l.done)
		return l
	}
	go func() {
		defer close(l.done)
		if l.u, l.err = s.unit(want[0].unit); l.err != nil {
			return
		}
		if l.m, l.err = l.u.image(want[0].version); l.err != nil {
			l.err = status.Error(codes.Internal, l.err.Error())
		}
	}()
	return l
}

// drop waits for the image and releases it.
func (l *loading) drop() {
	<-l.done
	if l.m != nil {
		l.u.release(l.m)
	}
}

// open receives a stream's first frame and finds its session.
func (s *Server) open(st cluster.Stream, m sessionMessage) (*session, error) {
	f, err := st.Recv()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if err := parse(f.Header, m); err != nil {
		return nil, err
	}
	return s.find(m.GetId())
}

// sendImage sends an image once it is made.
func sendImage(st cluster.Stream, l *loading, t transfer, scratch []byte) error {
	defer l.drop()
	<-l.done
	u, m := l.u, l.m
	if l.err != nil || m == nil {
		return l.err
	}
	for at := 0; at == 0 || at < len(m.bytes); at += frameBytes {
		chunk := m.bytes[at:min(at+frameBytes, len(m.bytes))]
		if t.half(u.v.DType) {
			t.narrow(scratch[:len(chunk)/2], chunk)
			chunk = scratch[:len(chunk)/2]
		}
		f := &cluster.Frame{Header: wire.Encode(&wire.PullFrame{Unit: int64(u.number), Version: m.version, Offset: int64(at)}), Body: [][]byte{chunk}, More: true}
		if err := st.Send(f); err != nil {
			return err
		}
	}
	return nil
}

// maxRows bounds the rows of one request.
const maxRows = 1 << 24

// pullRows streams rows of units, in the request's order.
func (s *Server) pullRows(_ context.Context, st cluster.Stream) error {
	first, err := cluster.Next(st)
	if err != nil {
		return err
	}
	var req wire.RowsRequest
	if err := parse(first.Header, &req); err != nil {
		return err
	}
	x, err := s.find(req.Id)
	if err != nil {
		return err
	}
	t, err := transferOf(req.Transfer)
	if err != nil {
		return err
	}
	n, err := countRows(&req)
	if err != nil {
		return err
	}
	if first.Len() != 4*n {
		return status.Errorf(codes.InvalidArgument, "%d bytes of row numbers, expected %d", first.Len(), 4*n)
	}
	numbers := acquireScratch(4 * n)
	defer releaseScratch(numbers)
	if _, err := io.ReadFull(first, numbers); err != nil {
		return err
	}
	rest := int32s(numbers)
	out := &rowSender{st: st, transfer: t}
	defer out.free()
	for i, rows := range req.Rows {
		u, err := x.unit(int(req.Unit[i]))
		if err != nil {
			return err
		}
		if err := out.send(u, rest[:rows]); err != nil {
			return err
		}
		rest = rest[rows:]
	}
	return out.end(x.now())
}

// countRows checks and counts the rows of a request.
func countRows(req *wire.RowsRequest) (int, error) {
	if len(req.Unit) != len(req.Rows) {
		return 0, status.Errorf(codes.InvalidArgument, "rows: %v: %d units, %d numbers of rows", errLengths, len(req.Unit), len(req.Rows))
	}
	n := int64(0)
	for _, rows := range req.Rows {
		if rows < 0 || rows > maxRows || n+rows > maxRows {
			return 0, status.Errorf(codes.InvalidArgument, "%d rows: expected at most %d", rows, maxRows)
		}
		n += rows
	}
	return int(n), nil
}

// rowSender sends rows in frames of about rowFrame bytes. The last frame waits, to be sent with the end.
type rowSender struct {
	waiting  *wire.PullFrame // nil: none
	body     [1][]byte
	st       cluster.Stream
	transfer transfer
	buf      []byte
	half     []byte
}

func (r *rowSender) send(u *unit, ids []int32) error {
	size := u.v.rowBytes()
	most := max(rowFrame/max(size, 1), 1)
	for len(ids) > 0 {
		if err := r.flush(); err != nil { // its memory is reused
			return err
		}
		n := min(len(ids), most)
		chunk := resizeScratch(&r.buf, n*size)
		if err := u.readRows(ids[:n], chunk); err != nil {
			return status.Errorf(codes.InvalidArgument, "rows of %s: %v", u.v.Name, err)
		}
		if r.transfer.half(u.v.DType) {
			half := resizeScratch(&r.half, len(chunk)/2)
			r.transfer.narrow(half, chunk)
			chunk = half
		}
		r.waiting = &wire.PullFrame{Unit: int64(u.number)}
		r.body[0] = chunk
		ids = ids[n:]
	}
	return nil
}

// flush sends the waiting rows.
func (r *rowSender) flush() error {
	if r.waiting == nil {
		return nil
	}
	h := r.waiting
	r.waiting = nil
	return r.st.Send(&cluster.Frame{Header: wire.Encode(h), Body: r.body[:]})
}

// end marks the end, in the frame of the last rows.
func (r *rowSender) end(now progress) error {
	if r.waiting == nil {
		return r.st.Send(&cluster.Frame{Header: wire.Encode(&wire.PullFrame{End: now.message()})})
	}
	r.waiting.End = now.message()
	return r.flush()
}

func (r *rowSender) free() {
	releaseScratch(r.buf)
	releaseScratch(r.half)
}
