package inputs

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"
)

// choices are numbers chosen by a fuzzer.
type choices struct{ left []byte }

// below returns a number from 0 to n-1; it is 0 once there are no more choices.
func (c *choices) below(n int) int {
	if len(c.left) == 0 {
		return 0
	}
	x := int(c.left[0]) % n
	c.left = c.left[1:]
	return x
}

// source returns rows with a list column "v" and "id", with random access or without.
func (c *choices) source(t testing.TB) Dataset {
	lengths := make([]int, 1+c.below(20))
	for i := range lengths {
		lengths[i] = c.below(4)
	}
	ds := lists(t, checked(t), lengths...)
	if c.below(2) == 0 {
		ds = Cache()(ds)
	}
	return ds
}

// step returns a transform. Some transforms do not fit the rows and refuse them.
func (c *choices) step(t testing.TB) Transform {
	seed := int64(c.below(5))
	steps := []func() Transform{
		func() Transform { return Batch(1+c.below(6), c.below(2) == 1) },
		func() Transform { return Shuffle(1+c.below(30), seed) },
		func() Transform { return Repeat(1 + c.below(3)) },
		func() Transform { return Take(int64(c.below(30))) },
		func() Transform { return Skip(int64(c.below(9))) },
		func() Transform { return Shard(c.below(2), 2) },
		func() Transform { return Prefetch(c.below(4)) },
		func() Transform { return Cache() },
		func() Transform { return Dedupe([]string{"id", "v"}[c.below(2)]) },
		func() Transform { return Unbatch("v") },
		func() Transform { return Map(Pad(Padding{Column: "v", Length: c.below(5), Truncate: c.below(2) == 1})) },
		func() Transform {
			return Window(Windows{Size: 1 + c.below(4), Shift: c.below(6), Stride: 1 + c.below(2), Last: c.below(2) == 1})
		},
		func() Transform { return GroupByColumn("id", 1+c.below(3), c.below(2) == 1) },
		func() Transform {
			return BucketByLength(Buckets{Column: "v", Boundaries: []int{1 + c.below(3)}, BatchSizes: []int{1 + c.below(4), 1 + c.below(4)}})
		},
		func() Transform {
			return Resample(Classes{Column: "id", Target: []float64{1, float64(c.below(3)), 1}, Seed: seed})
		},
		func() Transform {
			return Folding{Folds: 2 + c.below(3), Group: []string{"", "id"}[c.below(2)]}.Keep(c.below(2), c.below(2) == 1)
		},
		func() Transform { return Project([]string{"id", "v"}[c.below(2)]) },
		func() Transform { return Rename(map[string]string{"v": "w"}) },
		func() Transform {
			x, err := ParseExpression([]string{"id > 2", "id % 2 == 0", "len(v) > 1"}[c.below(3)])
			if err != nil {
				t.Fatal(err)
			}
			return Where(x)
		},
		func() Transform { return MemoryLimit(int64(1 + c.below(200)*100)) },
		func() Transform { return Snapshot(t.TempDir()) },
		func() Transform { return ParallelMap(Pad(Padding{Column: "v", Length: 4}), 1+c.below(3)) },
	}
	return steps[c.below(len(steps))]()
}

// pipeline returns rows of one or two sources, through up to eight steps.
func (c *choices) pipeline(t testing.TB) Dataset {
	ds := c.source(t)
	switch c.below(6) {
	case 1:
		ds = Concatenate(ds, c.source(t))
	case 2:
		ds = Interleave(1+c.below(3), 1+c.below(3), ds, c.source(t))
	case 3:
		ds = Mix(Mixture{Weights: []float64{1, float64(1 + c.below(3))}, Seed: 3}, ds, c.source(t))
	case 4:
		ds = Zip(ds, Pipe(c.source(t), Project("v"), Rename(map[string]string{"v": "other"})))
	}
	for len(c.left) > 0 && adopt(ds).depth() < 12 {
		ds = c.step(t)(ds)
	}
	return ds
}

// depth returns the number of steps of a pipeline.
func (n *node) depth() (steps int) {
	for ; n != nil; n = n.up {
		steps++
	}
	return steps
}

// mostShown bounds the number of records that are compared.
const mostShown = 60

// shownRecords returns the first records of a pass, and the error that ends it earlier.
func shownRecords(t testing.TB, it Iterator, s *Schema) (records []string) {
	for len(records) < mostShown {
		rec, err := it.Next(context.Background())
		if err != nil {
			if !eof(err) {
				records = append(records, "error: "+err.Error())
			}
			return records
		}
		records = append(records, show(t, rec, s))
		rec.Release()
	}
	return records
}

// failed reports whether records end with an error.
func failed(records []string) bool {
	return len(records) > 0 && strings.HasPrefix(records[len(records)-1], "error: ")
}

// FuzzSteps: any steps, in any order, deliver the same records in each pass and after each restored position, and release
// what they hold. TestMain finds leaked goroutines.
func FuzzSteps(f *testing.F) {
	for step := range byte(22) {
		f.Add([]byte{9, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 1, step, 2, 1, 1, 0, 2, 3, 1, 3, 1, step, 1})
		f.Add([]byte{3, 1, 2, 3, 0, 1, step % 6, 3, 0, 1, 2, 0, 1, 1, step, 5, 0, 3, 2, 0, step, 3, 3})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 100 {
			t.Skip("nothing is chosen, or too much")
		}
		ds := (&choices{data}).pipeline(t)
		open := func() Iterator {
			it, err := ds.Iterate(t.Context())
			if err != nil {
				t.Skipf("refused: %v", err)
			}
			return it
		}
		it := open()
		defer it.Close()
		want := shownRecords(t, it, ds.Schema())
		again := open()
		defer again.Close()
		if d := cmp.Diff(want, shownRecords(t, again, ds.Schema())); d != "" {
			t.Fatalf("%s: a second pass differs (-first +second):\n%.2000s", adopt(ds).desc, d)
		}
		at := 0
		if len(want) > 0 {
			at = int(data[len(data)-1]) % len(want)
		}
		half := open()
		defer half.Close()
		for range at {
			rec, err := half.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		state, err := half.State()
		if err != nil {
			t.Fatalf("%s: the position behind %d records: %v", adopt(ds).desc, at, err)
		}
		rest := open()
		defer rest.Close()
		if err := rest.Restore(state); err != nil {
			t.Fatalf("%s: restore the position behind %d records: %v", adopt(ds).desc, at, err)
		}
		got, whole := shownRecords(t, rest, ds.Schema()), len(want)
		if failed(want) && len(got) > 0 {
			whole--                                                   // steps that read ahead may deliver more before the error
			lacksMemory := strings.Contains(want[whole], "memory_mb") // a restored buffer does not hold delivered rows
			if !failed(got) && len(got) < mostShown && !lacksMemory {
				t.Fatalf("%s: behind %d records the error is gone: %s", adopt(ds).desc, at, want[whole])
			}
		}
		if d := cmp.Diff(want[at:whole], got[:min(len(got), whole-at)]); d != "" {
			t.Fatalf("%s: behind %d records (-want +got):\n%.2000s", adopt(ds).desc, at, d)
		}
	})
}

// FuzzQuery reads values of any type into columns of any type.
func FuzzQuery(f *testing.F) {
	f.Add("12", []byte{1, 1, 1, 1, 2, 3, 4, 5, 6, 7})
	f.Add("\xff\x00", []byte{2, 3, 0, 0, 5, 5, 5, 1, 7, 3, 2, 1, 0, 4})
	types := []string{"", "BIGINT", "DOUBLE PRECISION", "VARCHAR(20)", "BOOLEAN", "BLOB", "TIMESTAMP", "DECIMAL(9,2)", "UUID"}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		c := choices{data}
		q := &table{}
		var o ArrowOptions
		for i := range 1 + c.below(3) {
			name := fmt.Sprint("c", i)
			q.columns, q.types = append(q.columns, name), append(q.types, types[c.below(len(types))])
			spec := ColumnSpec{Name: name, DType: []string{"", "float32", "float64", "int64", "string", "bool"}[c.below(6)]}
			if c.below(2) == 1 {
				spec.Default = 0
			}
			if c.below(3) == 1 {
				spec.Vocabulary, spec.DType = []string{"a", text}, ""
			}
			o.Columns = append(o.Columns, spec)
		}
		if c.below(2) == 1 {
			o.Columns = nil
		}
		if c.below(2) == 1 {
			o.Damaged = silent()
		}
		for range 1 + c.below(5) {
			row := make([]driver.Value, len(q.columns))
			for i := range row {
				row[i] = []driver.Value{nil, int64(c.below(256)) - 9, float64(c.below(99)) / 3, text, []byte(text), c.below(2) == 1, time.Unix(int64(c.below(99)), 5).UTC(), "7.50"}[c.below(8)]
			}
			q.rows = append(q.rows, row)
		}
		o.Allocator = checked(t)
		ds, err := FromQuery(t.Context(), q.open(t), "all", nil, o)
		if err != nil {
			return
		}
		it, err := ds.Iterate(t.Context())
		if err != nil {
			return
		}
		defer it.Close()
		if got := shownRecords(t, it, ds.Schema()); len(got) > len(q.rows)+1 {
			t.Errorf("%d records of %d rows", len(got), len(q.rows))
		}
	})
}

// keptMessages are the messages of a writer.
type keptMessages []*flight.FlightData

func (k *keptMessages) Send(m *flight.FlightData) error {
	*k = append(*k, &flight.FlightData{DataHeader: slices.Clone(m.DataHeader), DataBody: slices.Clone(m.DataBody)})
	return nil
}

// pairMessages returns the schema message and a batch message.
func pairMessages(t testing.TB, ids ...int64) keptMessages {
	t.Helper()
	var k keptMessages
	w := flight.NewRecordWriter(&k, ipc.WithSchema(pairSchema))
	rec := pairRecord(ids...)
	defer rec.Release()
	if err := errors.Join(w.Write(rec), w.Close()); err != nil || len(k) != 2 {
		t.Fatalf("%d messages, %v", len(k), err)
	}
	return k
}

// FuzzFlight: anything that a service sends gives rows or an error.
func FuzzFlight(f *testing.F) {
	messages := pairMessages(f, 7, 8)
	var head, body []byte // the message after the schema
	var mu sync.Mutex
	service := &pairs{streams: func(s flight.FlightService_DoGetServer) error {
		mu.Lock()
		m := &flight.FlightData{DataHeader: slices.Clone(head), DataBody: slices.Clone(body)}
		mu.Unlock()
		return sent(messages[0], m)(s)
	}}
	spec := flightSpec(service.serve(f), "7")
	spec.Flight.TimeoutSecs = 20
	for _, m := range messages {
		f.Add(m.DataHeader, m.DataBody)
		f.Add(m.DataHeader[:len(m.DataHeader)/2], m.DataBody)
	}
	f.Fuzz(func(t *testing.T, header, data []byte) {
		mu.Lock()
		head, body = header, data
		mu.Unlock()
		ds, err := Open(t.Context(), spec, Context{Mode: Train, Allocator: checked(t)})
		if err != nil {
			return
		}
		it, err := ds.Iterate(t.Context())
		if err != nil {
			return
		}
		defer it.Close()
		shownRecords(t, it, ds.Schema())
	})
}
