package ps

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// TestLookupsOfAGradient checks which entries of a push a server accepts together.
func TestLookupsOfAGradient(t *testing.T) {
	rows := func(e entry) entry { // with zero rows
		e.unit = 1
		return e
	}
	for _, c := range []struct {
		why     string
		clip    bool
		entries []entry
		want    string // "": accepted
	}{
		{"a lookup, a gather and a dense gradient", true, []entry{rows(entry{kind: sparseGradient}), rows(entry{kind: rowsApart, lookup: 1}), {unit: 1, lookup: 2}}, ""},
		{"one lookup", false, []entry{rows(entry{kind: sparseGradient})}, ""},
		{"two lookups without a clip", false, []entry{rows(entry{kind: sparseGradient}), rows(entry{kind: sparseGradient, lookup: 1})}, "expected that of a gradient that is clipped"},
		{"rows apart without a clip", false, []entry{rows(entry{kind: rowsApart})}, "expected that of a gradient that is clipped"},
		{"a lookup twice", true, []entry{rows(entry{kind: sparseGradient, lookup: 1}), rows(entry{kind: rowsApart, lookup: 1})}, "is there twice"},
		{"an assignment beside a gradient", true, []entry{{unit: 1, kind: assignment}, rows(entry{kind: sparseGradient, lookup: 1})}, "is there twice"},
		{"a gradient beside an assignment", true, []entry{rows(entry{kind: sparseGradient, lookup: 1}), {unit: 1, kind: assignment}}, "is there twice"},
		{"a lookup of an assignment", true, []entry{{unit: 1, kind: assignment, lookup: 1}}, "expected that of a gradient"},
		{"a lookup below 0", true, []entry{rows(entry{kind: sparseGradient, lookup: -1})}, "expected that of a gradient"},
		{"more rows than there are", true, []entry{rows(entry{kind: sparseGradient, rows: 12})}, "12 rows of"},
		{"more rows apart than numbers", true, []entry{rows(entry{kind: rowsApart, rows: math.MaxInt32 + 1})}, "rows of"},
		{"fewer than no rows", true, []entry{rows(entry{kind: rowsApart, rows: -1})}, "rows of"},
		{"rows of a scalar", true, []entry{{unit: 2, kind: rowsApart}}, "is a scalar"},
		{"an unknown kind", true, []entry{{unit: 1, kind: rowsApart + 1}}, "entry of kind"},
	} {
		parameters := map[string]any{}
		if c.clip {
			parameters["clip_norm"] = 1
		}
		s, id, _ := target(t, Config{Servers: 1, Sync: &Sync{1, 1}}, parameters)
		x, err := s.find(id)
		if err != nil {
			t.Fatal(err)
		}
		all, err := x.prepare(&wire.PushHeader{Id: id, Client: 1, Weight: 1, Entries: entriesMessage(c.entries)})
		freeAll(all)
		if c.want == "" && err != nil || c.want != "" && (status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, expected %q", c.why, err, c.want)
		}
		s.Close()
	}
}

// TestRowsOfLookups checks the row numbers of both kinds of sparse entries.
func TestRowsOfLookups(t *testing.T) {
	for _, c := range []struct {
		kind wire.EntryKind
		ids  []int32
		good bool
	}{
		{sparseGradient, []int32{0, 3, 10}, true}, {sparseGradient, []int32{3, 3}, false}, {sparseGradient, []int32{3, 1}, false},
		{sparseGradient, []int32{-1}, false}, {sparseGradient, []int32{11}, false},
		{rowsApart, []int32{0, 0, 3, 3, 10, 10}, true}, {rowsApart, []int32{3, 3, 1}, false}, {rowsApart, []int32{-1, 0}, false}, {rowsApart, []int32{10, 11}, false},
	} {
		in := &incoming{entry: entry{kind: c.kind}, u: &unit{shape: []int{11, 2}, v: &Variable{Name: "table"}}}
		in.ids = c.ids
		if err := in.finish(); (err == nil) != c.good {
			t.Errorf("%v of kind %d: %v", c.ids, c.kind, err)
		}
	}
}

// TestUnboundedRowsTakeWhatComes announces as many rows as a header can, and sends few: memory is at most a
// small multiple of the received data.
func TestUnboundedRowsTakeWhatComes(t *testing.T) {
	s, id, _ := target(t, Config{Servers: 1, Sync: &Sync{1, 1}}, map[string]any{"clip_norm": 1})
	defer s.Close()
	var entries []entry
	for i := range 1000 {
		entries = append(entries, entry{unit: 1, kind: rowsApart, lookup: i, rows: math.MaxInt32})
	}
	h := wire.Encode(&wire.PushHeader{Id: id, Client: 1, Sequence: 1, Weight: 1, Transfer: wire.Transfer_TRANSFER_FLOAT32, Entries: entriesMessage(entries)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := s.push(context.Background(), &script{in: []*cluster.Frame{{Header: h}, {Body: [][]byte{make([]byte, 1<<20)}}, {Header: wire.Encode(&wire.PushEnd{Commit: true})}}})
	runtime.ReadMemStats(&after)
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, expected that the body is too short", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("%d bytes were taken for 1 MiB", got)
	}
}

func TestGrownReadsWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 64), rapid.SampledFrom([]int{firstRoom - 8, firstRoom, firstRoom + 8, 3 * firstRoom, 5*firstRoom + 8})).Draw(r, "n")
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i*7 + i>>8)
		}
		from := bytes.NewReader(want)
		got, err := grown(n, func(dst []byte) error {
			_, err := from.Read(dst)
			if len(dst) == 0 {
				err = nil
			}
			return err
		})
		if err != nil || !bytes.Equal(got, want) {
			r.Fatalf("%d bytes: %v, %d read", n, err, len(got))
		}
		releaseScratch(got)
	})
}

// TestPushChecksLookups checks what a client refuses before sending.
func TestPushChecksLookups(t *testing.T) {
	b := newBegun(t, Config{Servers: 1}, 1, ServerConfig{})
	for _, g := range []Gradient{
		{Variable: "table", Lookup: 1, IDs: []int64{5}, Value: tensor.New(tensor.Float32, 1, 2)},
		{Variable: "table", Apart: true, IDs: []int64{5}, Value: tensor.New(tensor.Float32, 1, 2)},
	} {
		if _, err := b.c.Push(testContext(t), Push{Gradients: []Gradient{g}}); err == nil || !strings.Contains(err.Error(), "without a clip on the servers") {
			t.Errorf("lookup %d, apart %v: got %v", g.Lookup, g.Apart, err)
		}
	}
}

func TestClipFactors(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		kind    optimizers.TransformKind
		squares []float64
		want    []float64 // NaN matches NaN
	}{
		{optimizers.ClipNorm, []float64{0, 4, 16}, []float64{1, 1, 0.5}},
		{optimizers.ClipGlobalNorm, []float64{0, 9, 16}, []float64{0.4, 0.4, 0.4}},
		{optimizers.ClipGlobalNorm, []float64{1, 2}, []float64{1, 1}},
		{optimizers.ClipNorm, []float64{inf, 16}, []float64{0, 0.5}},
		{optimizers.ClipGlobalNorm, []float64{inf, 16}, []float64{math.NaN(), math.NaN()}},
		{optimizers.ClipNorm, []float64{math.NaN(), 16}, []float64{math.NaN(), 0.5}},
	} {
		for i, got := range clipFactors(c.kind, 2, c.squares) {
			if want := c.want[i]; got != want && (got == got || want == want) {
				t.Errorf("%s of squares %v: factor %d is %v, expected %v", c.kind, c.squares, i, got, want)
			}
		}
	}
}
