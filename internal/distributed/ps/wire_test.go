package ps

import (
	"bytes"
	"reflect"
	"testing"
)

// messages are all that travel.
func messages() []message {
	return []message{&createRequest{}, &fillHeader{}, &readyRequest{}, &statusRequest{}, &statusReply{}, &extendRequest{}, &progress{}, &pullRequest{}, &pullFrame{},
		&rowsRequest{}, &pushHeader{}, &pushEnd{}, &pushReply{}, &waitRequest{}, &waitReply{}, &stopRequest{}, &finishRequest{}, &fenceRequest{}, &fenceReply{}, &sliceRequest{}, &roundRequest{}, &normsReply{}, &nothing{}}
}

// FuzzMessages decodes bytes as every message: what is accepted is what it
// encodes to, and what is not is an error.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{})
	for _, m := range []message{
		&createRequest{ident: ident{1, 2}, server: 1, step: -3, replace: true, last: 7, plan: []byte("{}")},
		&readyRequest{positions: []position{{1, []byte("x")}, {2, nil}}},
		&statusReply{digest: "d", common: []byte("{}"), last: 9, progress: progress{5, true, "why"}, stats: Stats{Pushes: 3}},
		&pullRequest{transfer: transfer(14), want: []have{{1, 2}, {3, 4}}},
		&pullFrame{unit: -1, progress: progress{step: 1}}, &pullFrame{unit: 3, version: 1 << 60, offset: 1 << 40},
		&rowsRequest{transfer: transfer(1), want: []rowCount{{1, 2}}},
		&pushHeader{rank: 2, tally: &tallyHeader{stamp: -3, sums: 4, records: 5}},
		&pushHeader{rank: 1, client: 1 << 63, weight: 0.5, transfer: transfer(19), entries: []entry{{unit: 1, kind: sparseGradient, rows: 2, lookup: 3}}},
		&fenceReply{positions: []position{{3, []byte("abc")}}}, &roundRequest{ranks: []int{1, 2}, factors: []float64{1, 2}},
	} {
		f.Add(encode(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range messages() {
			if err := decode(b, m); err != nil {
				continue
			}
			again := encode(m)
			n := messages()
			for _, x := range n {
				if reflect.TypeOf(x) == reflect.TypeOf(m) {
					if err := decode(again, x); err != nil || !bytes.Equal(encode(x), again) {
						t.Fatalf("%T %x: %x, %v", m, b, again, err)
					}
				}
			}
		}
	})
}
