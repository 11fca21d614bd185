package ps

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// TestListsAndTypesAreChecked sends messages that decode but make no sense.
func TestListsAndTypesAreChecked(t *testing.T) {
	s, id, _ := target(t, Config{Servers: 1}, nil)
	defer s.Close()
	service := s.Service()
	good := &wire.PushHeader{Id: id, Client: 1, Sequence: 1, Transfer: wire.Transfer_TRANSFER_FLOAT32}
	push := func(change func(*wire.PushHeader)) *wire.PushHeader {
		m := proto.CloneOf(good)
		change(m)
		return m
	}
	for _, c := range []struct {
		name, method string
		first        proto.Message
	}{
		{"units without versions", "Pull", &wire.PullRequest{Id: id, Transfer: 1, Want: &wire.Versions{Unit: []int64{0, 1}, Version: []uint64{0}}}},
		{"no type of elements", "Pull", &wire.PullRequest{Id: id}},
		{"an unknown type of elements", "PullRows", &wire.RowsRequest{Id: id, Transfer: 2}},
		{"rows without units", "PullRows", &wire.RowsRequest{Id: id, Transfer: 1, Rows: []int64{0}}},
		{"entries without kinds", "Push", push(func(m *wire.PushHeader) {
			m.Entries = &wire.Entries{Unit: []int64{0}, Lookup: []int64{0}, Rows: []int64{0}}
		})},
		{"wanted versions of nothing", "Push", push(func(m *wire.PushHeader) { m.Want = &wire.Versions{Version: []uint64{1}} })},
		{"a push of an unknown type of elements", "Push", push(func(m *wire.PushHeader) { m.Transfer = 3 })},
		{"a kind below 0", "Push", push(func(m *wire.PushHeader) { m.Entries = entriesMessage([]entry{{unit: 0, kind: -1}}) })},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []*cluster.Frame{{Header: wire.Encode(c.first)}, {Header: wire.Encode(&wire.PushEnd{Commit: true})}}
			if err := service.Streams[c.method](context.Background(), &script{in: in}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("got %v, expected an invalid argument", err)
			}
		})
	}
}

// TestPushNeedsItsEnd: a frame without a header is not the end of a push.
func TestPushNeedsItsEnd(t *testing.T) {
	s, id, _ := target(t, Config{Servers: 1}, nil)
	defer s.Close()
	header := wire.Encode(&wire.PushHeader{Id: id, Client: 1, Sequence: 1, Transfer: wire.Transfer_TRANSFER_FLOAT32})
	err := s.push(context.Background(), &script{in: []*cluster.Frame{{Header: header}, {}}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, expected an invalid argument", err)
	}
	if err := s.push(context.Background(), &script{in: []*cluster.Frame{{Header: header}, {Header: wire.Encode(&wire.PushEnd{Commit: true})}}}); err != nil {
		t.Error(err)
	}
	if x, err := s.find(id); err != nil || x.now().step != 1 {
		t.Errorf("at step %d, expected 1: %v", x.now().step, err)
	}
}
