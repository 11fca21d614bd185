package ps

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/models/optimizers"
)

// script is a stream on which a peer sends given frames.
type script struct{ in, out []*cluster.Frame }

func (s *script) Recv() (*cluster.Frame, error) {
	if len(s.in) == 0 {
		return nil, io.EOF
	}
	f := s.in[0]
	s.in = s.in[1:]
	return f, nil
}

func (s *script) Send(f *cluster.Frame) error {
	s.out = append(s.out, f)
	return nil
}

// target is a server without a network, with a session of a job.
func target(tb testing.TB, c Config, parameters map[string]any) (*Server, ident, *Plan) {
	tb.Helper()
	j := newJob(tb, "adam", parameters)
	p := j.plan(tb, c)
	s := NewServer(ServerConfig{})
	text, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	id := ident{s.c.Incarnation, 5}
	if _, err := s.create(context.Background(), &createRequest{ident: id, plan: text}); err != nil {
		tb.Fatal(err)
	}
	if _, err := s.ready(context.Background(), &readyRequest{ident: id}); err != nil {
		tb.Fatal(err)
	}
	return s, id, p
}

// FuzzServer sends headers and bodies to every method: the answer is a reply or
// a status error, and the server can still be pushed to. The first byte
// chooses the method; a header that can be decoded gets the right session.
func FuzzServer(f *testing.F) {
	ok := ident{}
	floats := make([]byte, 84)
	for i, m := range []message{
		&pushHeader{ident: ok, client: 1, sequence: 1, transfer: 1, entries: []entry{{unit: 0}}},
		&pushHeader{ident: ok, client: 1, sequence: 1, transfer: 1, tally: &tallyHeader{sums: 1 << 40, records: 3}},
		&pushHeader{ident: ok, client: 1, sequence: 2, transfer: 19, entries: []entry{{unit: 1, kind: sparseGradient, rows: 2}}},
		&pushHeader{ident: ok, client: 1, sequence: 3, weight: 1, transfer: 1, entries: []entry{{unit: 1, kind: sparseGradient, rows: 2}, {unit: 1, lookup: 1, kind: rowsApart, rows: 20}, {unit: 1, lookup: 2}}},
		&pullRequest{ident: ok, transfer: 14, want: []have{{0, 0}, {1, 9}}},
		&rowsRequest{ident: ok, transfer: 1, want: []rowCount{{1, 2}, {0, 1}}},
		&fillHeader{ident: ok, unit: 1}, &sliceRequest{fenceRequest: fenceRequest{fence: 7}, unit: 1, length: 8},
		&fenceRequest{fence: 7}, &roundRequest{ranks: []int{0}}, &statusRequest{}, &waitRequest{step: 0}, &readyRequest{positions: []position{{70000, nil}}},
	} {
		for method := range byte(len(fuzzed)) {
			f.Add(method, encode(m), floats[:8*(i%3)])
			f.Add(method, encode(m), floats)
		}
	}
	f.Fuzz(func(t *testing.T, method byte, header, body []byte) {
		for _, c := range []struct {
			Config
			parameters map[string]any
		}{{Config{Servers: 1, Staleness: 3}, nil}, {Config{Servers: 1, Sync: &Sync{1, 1}}, nil}, {Config{Servers: 1, Sync: &Sync{1, 1}}, map[string]any{"clip_value": 1}}} {
			s, id, p := target(t, c.Config, c.parameters)
			defer s.Close()
			m := fuzzed[int(method)%len(fuzzed)]
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // nothing may wait
			h := m.adopt(header, id)
			if handler := s.Service().Streams[m.name]; handler != nil {
				checkStatus(t, handler(ctx, &script{in: []*cluster.Frame{{Header: h, Body: [][]byte{body}}, {Body: [][]byte{body}}, {Header: encode(&pushEnd{})}}}))
			} else {
				_, err := s.Service().Unary[m.name](ctx, &cluster.Frame{Header: h, Body: [][]byte{body}})
				checkStatus(t, err)
			}
			if m.name == "Finish" || m.name == "Create" {
				continue
			}
			x, err := s.find(id)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Units() {
				if _, err := x.units[i].image(0); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// fuzzed are the methods and how to put a session into their messages.
var fuzzed = []struct {
	name  string
	adopt func(header []byte, id ident) []byte
}{
	{"Push", adopt[pushHeader](func(m *pushHeader, id ident) { m.ident = id })},
	{"Pull", adopt[pullRequest](func(m *pullRequest, id ident) { m.ident = id })},
	{"PullRows", adopt[rowsRequest](func(m *rowsRequest, id ident) { m.ident = id })},
	{"Fill", adopt[fillHeader](func(m *fillHeader, id ident) { m.ident = id })},
	{"ReadSlice", adopt[sliceRequest](func(m *sliceRequest, id ident) { m.ident = id })},
	{"FenceBegin", adopt[fenceRequest](func(m *fenceRequest, id ident) { m.ident = id })},
	{"FenceMark", adopt[fenceRequest](func(m *fenceRequest, id ident) { m.ident = id })},
	{"FenceEnd", adopt[fenceRequest](func(m *fenceRequest, id ident) { m.ident = id })},
	{"Release", adopt[fenceRequest](func(m *fenceRequest, id ident) { m.ident = id })},
	{"Norms", adopt[roundRequest](func(m *roundRequest, id ident) { m.ident = id })},
	{"Apply", adopt[roundRequest](func(m *roundRequest, id ident) { m.ident = id })},
	{"WaitStep", adopt[waitRequest](func(m *waitRequest, id ident) { m.ident = id })},
	{"Ready", adopt[readyRequest](func(m *readyRequest, id ident) { m.ident = id })},
	{"Stop", adopt[stopRequest](func(m *stopRequest, id ident) { m.ident = id })},
	{"Finish", adopt[finishRequest](func(m *finishRequest, id ident) { m.ident = id })},
	{"Status", adopt[statusRequest](func(*statusRequest, ident) {})},
	{"Extend", adopt[extendRequest](func(m *extendRequest, id ident) { m.ident = id })},
	{"Create", adopt[createRequest](func(m *createRequest, id ident) { m.incarnation = id.incarnation })},
}

func adopt[T any, PT pointerTo[T]](set func(PT, ident)) func([]byte, ident) []byte {
	return func(header []byte, id ident) []byte {
		m := PT(new(T))
		if decode(header, m) != nil {
			return header
		}
		set(m, id)
		return encode(m)
	}
}

// checkStatus fails for errors without a meaning.
func checkStatus(t *testing.T, err error) {
	t.Helper()
	if c := status.Code(err); c == codes.Unknown && err != io.EOF {
		t.Errorf("an error without a code: %v", err)
	}
}

// FuzzPlan parses plans: what is accepted can be placed and, where it is
// small, made.
func FuzzPlan(f *testing.F) {
	for _, name := range optimizers.Names() {
		j := newJob(f, name, nil)
		text, err := json.Marshal(j.plan(f, Config{Servers: 2, Partitioner: FixedShards(2)}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parsePlan(text)
		if err != nil {
			return
		}
		total := int64(0)
		for _, u := range p.Units() {
			total += p.bytes(u)
		}
		if total > 1<<20 || len(p.Units()) > 100 {
			return
		}
		s, err := newSession(p, &createRequest{ident: ident{1, 1}})
		if err != nil {
			return
		}
		defer s.close(errClosed)
		for _, u := range s.units {
			if u.train != nil {
				_ = u.apply(context.Background(), 0, &gradient{values: u.takeBuffer()}) // an error, or not: no crash
			}
		}
	})
}
