package inputs

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// TestSQLCountsByPass: if passes have different rows, the pass with the most damaged rows counts; each database counts on its own.
func TestSQLCountsByPass(t *testing.T) {
	changing := numbersTable(8)
	db, other := changing.open(t), numbersTable(1)
	other.rows[0][0] = nil
	count := &Damaged{Max: 3, Log: silent().Log}
	open := func(db *sql.DB, args ...any) Dataset {
		t.Helper()
		ds, err := FromQuery(t.Context(), db, "select", args, ArrowOptions{Columns: []ColumnSpec{{Name: "x"}, {Name: "id", Role: Label}}, Damaged: count})
		if err != nil {
			t.Fatal(err)
		}
		return ds
	}
	ds := open(db)
	for pass, c := range []struct {
		bad  []int // rows
		want int64
	}{{[]int{4}, 1}, {[]int{6}, 1}, {[]int{1, 2}, 2}, {[]int{7}, 2}} {
		changing.rows = numbersTable(8).rows
		for _, row := range c.bad {
			changing.rows[row][0] = nil
		}
		if got := flat(ids(t, ds)); len(got) != 8-len(c.bad) || count.Count() != c.want {
			t.Errorf("pass %d: %d rows left out, expected %d; the others %v", pass, count.Count(), c.want, got)
		}
	}
	if ids(t, open(db, int64(8))); count.Count() != 3 {
		t.Errorf("%d rows with other arguments", count.Count())
	}
	it := iterate(t, open(other.open(t)))
	if _, err := it.Next(t.Context()); !errors.Is(err, ErrTooManyDamaged) {
		t.Errorf("of another database: got %v", err)
	}
	a, b := SQLSpec{Driver: "d", Source: "a", Query: "q"}, SQLSpec{Driver: "d", SourceEnv: "TEST_SECRET", Query: "q"}
	t.Setenv("TEST_SECRET", "hush")
	if a.identity() == b.identity() || strings.Contains(b.identity(), "hush") {
		t.Errorf("got %q and %q", a.identity(), b.identity())
	}
}

// TestFlightCountsByPass: if the rows differ or lie elsewhere from pass to pass, the pass with the most damaged rows counts.
func TestFlightCountsByPass(t *testing.T) {
	streams := [][]int64{{7, -8}, {9}, {7, 8}, {-9, 9}, {-7, 7}, {8, -9}} // two for each pass
	var calls atomic.Int64
	service := &pairs{streams: func(s flight.FlightService_DoGetServer) error {
		w := flight.NewRecordWriter(s, ipc.WithSchema(pairSchema))
		rec := pairRecord(streams[calls.Add(1)-1]...)
		defer rec.Release()
		return errors.Join(w.Write(rec), w.Close())
	}}
	s := flightSpec(service.serve(t), "a/b")
	s.OnError = "skip"
	count := silent()
	ds := must[Dataset](t)(Open(t.Context(), s, Context{Mode: Train, Damaged: count}))
	for pass, want := range []int64{1, 1, 2} {
		if got := flat(ids(t, ds)); count.Count() != want || slices.Min(got) < 7 {
			t.Errorf("pass %d: %d rows left out, expected %d; the others %v", pass, count.Count(), want, got)
		}
	}
}
