package keyvalue

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

func fullRequest() *wire.StoreRequest {
	return &wire.StoreRequest{Store: math.MaxUint64, Name: "n", Value: []byte("v"), Rank: 3, Size: 7, After: 9, WaitMs: 1000, Done: true, KnowsStop: true, StepSecs: 0.25}
}

func fullReply() *wire.StoreReply {
	return &wire.StoreReply{Store: 1, Found: true, Values: [][]byte{[]byte("a"), {}, []byte("b")}, Missing: []uint64{0, 5}, Generation: 4, Stop: "why",
		Members: []*wire.Member{memberMessage(Member{Rank: 2}), {}}}
}

func TestMembersComeBack(t *testing.T) {
	want := Member{Peer: cluster.Peer{Task: worker(2), Incarnation: 8}, Rank: 2, LastSeen: time.Second, State: Lost, StepSecs: 1.5}
	b := wire.Encode(&wire.StoreReply{Members: []*wire.Member{memberMessage(want), {}}})
	got, err := decodeReply(b)
	must(t, err)
	for i, want := range []Member{want, {}} {
		if d := cmp.Diff(want, memberOf(got.Members[i])); d != "" {
			t.Error(d)
		}
	}
}

// TestNumbersAreChecked: numbers that do not fit into an int, but would be used as one.
func TestNumbersAreChecked(t *testing.T) {
	for name, change := range map[string]func(*wire.StoreRequest){
		"rank": func(r *wire.StoreRequest) { r.Rank = math.MaxUint64 }, "size": func(r *wire.StoreRequest) { r.Size = maxGeneration + 1 },
		"after": func(r *wire.StoreRequest) { r.After = 1 << 63 },
	} {
		r := fullRequest()
		change(r)
		if _, err := decodeRequest(wire.Encode(r)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, expected an error", name, err)
		}
	}
	for name, change := range map[string]func(*wire.StoreReply){
		"missing": func(r *wire.StoreReply) { r.Missing[1] = math.MaxUint64 }, "generation": func(r *wire.StoreReply) { r.Generation = maxGeneration + 1 },
		"index": func(r *wire.StoreReply) { r.Members[1].Index = 1 << 63 }, "state": func(r *wire.StoreReply) { r.Members[0].State = 1 << 63 },
		"seen": func(r *wire.StoreReply) { r.Members[0].LastSeenMs = 1 << 63 }, "rank of a member": func(r *wire.StoreReply) { r.Members[0].Rank = 1 << 63 },
	} {
		r := fullReply()
		change(r)
		if _, err := decodeReply(wire.Encode(r)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, expected an error", name, err)
		}
	}
	r := fullRequest()
	r.WaitMs = math.MaxUint64
	if got := holdOf(r); got != maxHold {
		t.Errorf("is held for %v, expected %v", got, maxHold)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(wire.Encode(fullRequest()))
	f.Add([]byte{})
	b := NewStore(Options{})
	methods := []answer{serveSet, serveGet, serveWait, serveMembers, serveGather, serveGeneration, serveBeat}
	f.Fuzz(func(t *testing.T, msg []byte) {
		r, err := decodeRequest(msg)
		if err != nil {
			return
		}
		if _, err := decodeRequest(wire.Encode(r)); err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
		r.WaitMs = 0
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, a := range methods {
			a(ctx, view{b, cluster.Peer{Task: worker(0), Incarnation: 1}}, r) // must return and not panic
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add(wire.Encode(fullReply()))
	f.Fuzz(func(t *testing.T, msg []byte) {
		r, err := decodeReply(msg)
		if err != nil {
			return
		}
		for _, m := range r.Members {
			memberOf(m)
		}
		if _, err := decodeReply(wire.Encode(r)); err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
	})
}
