package coordinator

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

func fullRequest() request {
	return request{board: math.MaxUint64, name: "n", value: []byte("v"), rank: 3, size: 7, after: 9, wait: time.Second, done: true, knowsStop: true, stepSecs: 0.25}
}

func fullReply() reply {
	return reply{board: 1, found: true, values: [][]byte{[]byte("a"), {}, []byte("b")}, missing: []int{0, 5}, generation: 4, stop: "why",
		members: []Member{{Peer: cluster.Peer{Task: worker(2), Incarnation: 8}, Rank: 2, LastSeen: time.Second, State: Lost, StepSecs: 1.5}, {}}}
}

func TestMessagesComeBack(t *testing.T) {
	req, rep := fullRequest(), fullReply()
	var gotReq request
	must(t, gotReq.unmarshal(req.marshal()))
	if d := cmp.Diff(req, gotReq, cmp.AllowUnexported(request{})); d != "" {
		t.Error(d)
	}
	var gotRep reply
	must(t, gotRep.unmarshal(rep.marshal()))
	if d := cmp.Diff(rep, gotRep, cmp.AllowUnexported(reply{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func FuzzRequest(f *testing.F) {
	req := fullRequest()
	f.Add(req.marshal())
	f.Add([]byte{})
	b := NewBoard(Options{})
	methods := []answer{serveSet, serveGet, serveWait, serveMembers, serveGather, serveGeneration, serveBeat}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var r request
		if r.unmarshal(msg) != nil {
			return
		}
		var again request
		if err := again.unmarshal(r.marshal()); err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
		r.wait = 0
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, a := range methods {
			a(ctx, view{b, cluster.Peer{Task: worker(0), Incarnation: 1}}, &r) // must return and not panic
		}
	})
}

func FuzzReply(f *testing.F) {
	rep := fullReply()
	f.Add(rep.marshal())
	f.Fuzz(func(t *testing.T, msg []byte) {
		var r, again reply
		if r.unmarshal(msg) != nil {
			return
		}
		if err := again.unmarshal(r.marshal()); err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
	})
}
