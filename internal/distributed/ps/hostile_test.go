package ps

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
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

// target is a server without a network, with the session of a job.
func target(tb testing.TB, c Config, parameters map[string]any) (*Server, *wire.SessionID, *Plan) {
	tb.Helper()
	j := newJob(tb, "adam", parameters)
	p := j.plan(tb, c)
	s := NewServer(ServerConfig{})
	text, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	id := &wire.SessionID{Incarnation: s.c.Incarnation, Session: 5}
	if _, err := s.create(context.Background(), &wire.CreateRequest{Id: id, Plan: text}); err != nil {
		tb.Fatal(err)
	}
	if _, err := s.ready(context.Background(), &wire.ReadyRequest{Id: id}); err != nil {
		tb.Fatal(err)
	}
	return s, id, p
}

// FuzzServer sends headers and bodies to every method: the answer is a reply or
// a status error, and the server still accepts pushes. The first byte selects
// the method; a header that can be decoded gets the right session.
func FuzzServer(f *testing.F) {
	floats := make([]byte, 84)
	push := func(sequence uint64, t wire.Transfer, weight float64, list ...entry) *wire.PushHeader {
		return &wire.PushHeader{Client: 1, Sequence: sequence, Transfer: t, Weight: weight, Entries: entriesMessage(list)}
	}
	withTally := push(1, 1, 0)
	withTally.Tally = &wire.Tally{Sums: 1 << 40, Records: 3}
	for i, m := range []proto.Message{
		push(1, 1, 0, entry{unit: 0}), withTally,
		push(2, 19, 0, entry{unit: 1, kind: sparseGradient, rows: 2}),
		push(3, 1, 1, entry{unit: 1, kind: sparseGradient, rows: 2}, entry{unit: 1, lookup: 1, kind: rowsApart, rows: 20}, entry{unit: 1, lookup: 2}),
		&wire.PushHeader{Client: 1, Transfer: 1, Entries: &wire.Entries{Unit: []int64{0, 1}}},
		&wire.PullRequest{Transfer: 14, Want: versions([]have{{0, 0}, {1, 9}})},
		&wire.PullRequest{Transfer: 1, Want: &wire.Versions{Unit: []int64{0, 1}}},
		&wire.RowsRequest{Transfer: 1, Unit: []int64{1, 0}, Rows: []int64{2, 1}}, &wire.RowsRequest{Transfer: 1, Rows: []int64{2, 1}},
		&wire.FillHeader{Unit: 1}, &wire.SliceRequest{Fence: 7, Unit: 1, Length: 8},
		&wire.FenceRequest{Fence: 7}, &wire.RoundRequest{Ranks: []int64{0}}, &wire.StatusRequest{}, &wire.WaitRequest{},
		&wire.ReadyRequest{Positions: []*wire.Position{{Rank: 70000}}},
	} {
		for method := range byte(len(fuzzed)) {
			f.Add(method, wire.Encode(m), floats[:8*(i%3)])
			f.Add(method, wire.Encode(m), floats)
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
				checkStatus(t, handler(ctx, &script{in: []*cluster.Frame{{Header: h, Body: [][]byte{body}}, {Body: [][]byte{body}}, {Header: wire.Encode(&wire.PushEnd{Commit: true})}}}))
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

// fuzzed are the methods, with functions that put a session into their messages.
var fuzzed = []struct {
	name  string
	adopt func(header []byte, id *wire.SessionID) []byte
}{
	{"Push", adopt[wire.PushHeader](func(m *wire.PushHeader, id *wire.SessionID) { m.Id = id })},
	{"Pull", adopt[wire.PullRequest](func(m *wire.PullRequest, id *wire.SessionID) { m.Id = id })},
	{"PullRows", adopt[wire.RowsRequest](func(m *wire.RowsRequest, id *wire.SessionID) { m.Id = id })},
	{"Fill", adopt[wire.FillHeader](func(m *wire.FillHeader, id *wire.SessionID) { m.Id = id })},
	{"ReadSlice", adopt[wire.SliceRequest](func(m *wire.SliceRequest, id *wire.SessionID) { m.Id = id })},
	{"FenceBegin", adopt[wire.FenceRequest](func(m *wire.FenceRequest, id *wire.SessionID) { m.Id = id })},
	{"FenceMark", adopt[wire.FenceRequest](func(m *wire.FenceRequest, id *wire.SessionID) { m.Id = id })},
	{"FenceEnd", adopt[wire.FenceRequest](func(m *wire.FenceRequest, id *wire.SessionID) { m.Id = id })},
	{"Release", adopt[wire.FenceRequest](func(m *wire.FenceRequest, id *wire.SessionID) { m.Id = id })},
	{"Norms", adopt[wire.RoundRequest](func(m *wire.RoundRequest, id *wire.SessionID) { m.Id = id })},
	{"Apply", adopt[wire.RoundRequest](func(m *wire.RoundRequest, id *wire.SessionID) { m.Id = id })},
	{"WaitStep", adopt[wire.WaitRequest](func(m *wire.WaitRequest, id *wire.SessionID) { m.Id = id })},
	{"Ready", adopt[wire.ReadyRequest](func(m *wire.ReadyRequest, id *wire.SessionID) { m.Id = id })},
	{"Stop", adopt[wire.StopRequest](func(m *wire.StopRequest, id *wire.SessionID) { m.Id = id })},
	{"Finish", adopt[wire.FinishRequest](func(m *wire.FinishRequest, id *wire.SessionID) { m.Id = id })},
	{"Status", adopt[wire.StatusRequest](func(*wire.StatusRequest, *wire.SessionID) {})},
	{"Extend", adopt[wire.ExtendRequest](func(m *wire.ExtendRequest, id *wire.SessionID) { m.Id = id })},
	{"Create", adopt[wire.CreateRequest](func(m *wire.CreateRequest, id *wire.SessionID) {
		m.Id = &wire.SessionID{Incarnation: id.Incarnation, Session: m.Id.GetSession()}
	})},
}

func adopt[T any, PT pointerTo[T]](set func(PT, *wire.SessionID)) func([]byte, *wire.SessionID) []byte {
	return func(header []byte, id *wire.SessionID) []byte {
		m := PT(new(T))
		if wire.Decode(header, m) != nil {
			return header
		}
		set(m, id)
		return wire.Encode(m)
	}
}

// checkStatus fails for errors without a meaningful code.
func checkStatus(t *testing.T, err error) {
	t.Helper()
	if c := status.Code(err); c == codes.Unknown && err != io.EOF {
		t.Errorf("an error without a code: %v", err)
	}
}

// FuzzPlan parses plans: accepted plans can be placed and, if they are small,
// created.
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
		s, err := newSession(p, &wire.CreateRequest{Id: &wire.SessionID{Incarnation: 1, Session: 1}})
		if err != nil {
			return
		}
		defer s.close(errClosed)
		for _, u := range s.units {
			if u.train != nil {
				_ = u.apply(context.Background(), 0, &gradient{values: u.acquireBuffer()}) // an error, or not: no crash
			}
		}
	})
}
