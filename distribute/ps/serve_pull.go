package ps

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/distribute/cluster"
	"github.com/goestimator/goestimator/internal/graph"
)

// frameBytes is the size of the body of most frames.
const frameBytes = 1 << 20

// pull streams values of units that are newer than the caller's.
func (s *Server) pull(_ context.Context, st cluster.Stream) error {
	var req pullRequest
	x, err := s.open(st, &req, func() ident { return req.ident })
	if err != nil {
		return err
	}
	var scratch []byte
	if graph.DType(req.transfer) != graph.Float32 {
		scratch = make([]byte, frameBytes/2)
	}
	for _, h := range req.want {
		u, err := x.unit(h.unit)
		if err != nil {
			return err
		}
		if err := sendUnit(st, u, h.version, req.transfer, scratch); err != nil {
			return err
		}
	}
	return st.Send(&cluster.Frame{Header: encode(&pullFrame{unit: -1, progress: x.now()})})
}

// open receives a stream's first frame and finds its session.
func (s *Server) open(st cluster.Stream, m message, id func() ident) (*session, error) {
	f, err := st.Recv()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if err := parse(f, m); err != nil {
		return nil, err
	}
	return s.find(id())
}

// sendUnit sends a unit's value, unless it has the version that the caller has.
func sendUnit(st cluster.Stream, u *unit, version uint64, t transfer, scratch []byte) error {
	m, err := u.image(version)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if m == nil {
		return nil
	}
	defer u.release(m)
	for at := 0; at == 0 || at < len(m.bytes); at += frameBytes {
		chunk := m.bytes[at:min(at+frameBytes, len(m.bytes))]
		if t.half(u.v.DType) {
			t.narrow(scratch[:len(chunk)/2], chunk)
			chunk = scratch[:len(chunk)/2]
		}
		f := &cluster.Frame{Header: encode(&pullFrame{unit: u.number, version: m.version, offset: at}), Body: [][]byte{chunk}}
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
	first, err := st.Recv()
	if err != nil {
		return err
	}
	defer first.Release()
	var req rowsRequest
	if err := parse(first, &req); err != nil {
		return err
	}
	x, err := s.find(req.ident)
	if err != nil {
		return err
	}
	n := 0
	for _, w := range req.want {
		if w.rows < 0 || w.rows > maxRows || n+w.rows > maxRows {
			return status.Errorf(codes.InvalidArgument, "%d rows: expected at most %d", w.rows, maxRows)
		}
		n += w.rows
	}
	if first.Len() != 4*n {
		return status.Errorf(codes.InvalidArgument, "%d bytes of row numbers, expected %d", first.Len(), 4*n)
	}
	ids := graph.NewTensor(graph.Int32, n)
	first.CopyTo(ids.Bytes, 0)
	rest := graph.Of[int32](ids)
	out := &rowSender{st: st, transfer: req.transfer}
	for _, w := range req.want {
		u, err := x.unit(w.unit)
		if err != nil {
			return err
		}
		if err := out.send(u, rest[:w.rows]); err != nil {
			return err
		}
		rest = rest[w.rows:]
	}
	return st.Send(&cluster.Frame{Header: encode(&pullFrame{unit: -1, progress: x.now()})})
}

// rowSender sends rows in frames of about frameBytes.
type rowSender struct {
	st       cluster.Stream
	transfer transfer
	buf      []byte
	half     []byte
}

func (r *rowSender) send(u *unit, ids []int32) error {
	size := u.v.rowBytes()
	most := max(frameBytes/max(size, 1), 1)
	for len(ids) > 0 {
		n := min(len(ids), most)
		if need := n * size; cap(r.buf) < need {
			r.buf = make([]byte, need)
		}
		chunk := r.buf[:n*size]
		if err := u.readRows(ids[:n], chunk); err != nil {
			return status.Errorf(codes.InvalidArgument, "rows of %s: %v", u.v.Name, err)
		}
		if r.transfer.half(u.v.DType) {
			if cap(r.half) < len(chunk)/2 {
				r.half = make([]byte, len(chunk)/2)
			}
			r.transfer.narrow(r.half[:len(chunk)/2], chunk)
			chunk = r.half[:len(chunk)/2]
		}
		if err := r.st.Send(&cluster.Frame{Header: encode(&pullFrame{unit: u.number}), Body: [][]byte{chunk}}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
