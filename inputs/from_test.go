package inputs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

// base is embedded in sample.
type base struct {
	ID   int64 `json:"id,omitempty" input:"id,label"`
	Note string
}

// sample has a field of each kind.
type sample struct {
	base
	X     [2]float32 `json:"x"`
	Grid  [2][3]int16
	Words []string
	Bytes []byte
	Age   *float64 `input:"age,default=-1"`
	Flat  []uint8  `input:"flat,shape=2x2"`
	On    bool     `input:",weight"`
	Note  int32    // hides base.Note
	Gone  chan int `json:"-"`
}

func sampleOf(i int) sample {
	age := float64(i) / 2
	e := sample{base: base{ID: int64(i)}, X: [2]float32{float32(i), -1}, Grid: [2][3]int16{{int16(i), 1, 2}, {3, 4, 5}}, Bytes: fmt.Appendf(nil, "b%d", i),
		Flat: []uint8{1, 2, 3, uint8(i)}, Note: int32(-i), On: i%2 == 0}
	for range i % 3 {
		e.Words = append(e.Words, "w")
	}
	if i%2 == 1 {
		e.Age = &age
	}
	return e
}

// samples returns pointers to n structs.
func samples(n int) []*sample {
	out := make([]*sample, n)
	for i := range out {
		e := sampleOf(i)
		out[i] = &e
	}
	return out
}

func yield[T any](rows []T, last error) func(context.Context) iter.Seq2[T, error] {
	return func(context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
			if last != nil {
				var zero T
				yield(zero, last)
			}
		}
	}
}

// must returns a function that fails the test on an error.
func must[D Dataset](t testing.TB) func(D, error) D {
	return func(ds D, err error) D {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ds
	}
}

func TestStructColumns(t *testing.T) {
	ds := must[Indexed](t)(FromStructs(samples(3), ArrowOptions{}))
	want := "id int64 label, x float32[2] feature, Grid int16[2 3] feature, Words string[...] feature, Bytes string feature, " +
		"age float64 feature, flat uint8[2 2] feature, On bool weight, Note int32 feature"
	if got := ds.Schema().String(); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	rec, err := ds.Gather(t.Context(), []int64{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(tensor.Values[int64](ts[0].Tensor), tensor.Values[float32](ts[1].Tensor), tensor.Values[int16](ts[2].Tensor), ts[3].Offsets,
		ts[4].Tensor.Strings, tensor.Values[float64](ts[5].Tensor), ts[6].Tensor.Bytes, tensor.Values[bool](ts[7].Tensor), tensor.Values[int32](ts[8].Tensor))
	if want := "[2 1] [2 -1 1 -1] [2 1 2 3 4 5 1 1 2 3 4 5] [0 2 3] [[98 50] [98 49]] [-1 0.5] [1 2 3 2 1 2 3 1] [true false] [-2 -1]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c, _ := ds.Schema().Column("age"); c.Default == nil || tensor.Values[float64](c.Default)[0] != -1 {
		t.Errorf("default of age: %v", c.Default)
	}
}

func TestStructOptions(t *testing.T) {
	type row struct {
		Color string
		Size  float64
		Count int
	}
	rows := []row{{"red", 1.5, 3}, {"blue", 2.5, 4}}
	ds := must[Indexed](t)(FromStructs(rows, ArrowOptions{Columns: []ColumnSpec{
		{Name: "Size", DType: "float32"}, {Name: "Color", Role: Label, Vocabulary: []string{"blue", "red"}}}}))
	if got := ds.Schema().String(); got != "Size float32 feature, Color int64 label" {
		t.Fatalf("got %s", got)
	}
	if d := cmp.Diff([]int64{1, 0}, flat(ids(t, ds))); d != "" {
		t.Error(d)
	}
	ds = must[Indexed](t)(FromStructs(rows, ArrowOptions{Unlabeled: true, Columns: []ColumnSpec{{Name: "Size"}, {Name: "Color", Role: Label}}}))
	if got := ds.Schema().String(); got != "Size float64 feature" {
		t.Errorf("got %s", got)
	}
}

// TestSourcesOfGoAgree compares the sources for the same list of structs.
func TestSourcesOfGoAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := samples(rapid.IntRange(1, 600).Draw(rt, "rows"))
		size := rapid.IntRange(1, 70).Draw(rt, "batch")
		ch := make(chan *sample, len(rows))
		for _, r := range rows {
			ch <- r
		}
		close(ch)
		mem := checked(t)
		memory := must[Indexed](t)(FromStructs(rows, ArrowOptions{Allocator: mem}))
		function := must[Dataset](t)(FromFunc(yield(rows, nil), ArrowOptions{Allocator: mem}))
		channel := must[Dataset](t)(FromChannel(ch, StreamOptions{ArrowOptions: ArrowOptions{Allocator: mem}}))
		var got [3][]string
		for i, ds := range []Dataset{memory, function, channel} {
			ds = Pipe(ds, Batch(size, false), Prefetch(i))
			it := iterate(t, ds)
			got[i] = drain(t, it, ds.Schema(), 1000)
			if err := it.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		if d := cmp.Diff(got[0], got[1]) + cmp.Diff(got[0], got[2]); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestStructErrors(t *testing.T) {
	type nested struct{ In struct{ A int } }
	type when struct{ At time.Time }
	type tag struct {
		A int `input:"a,lable"`
	}
	type shape struct {
		A []int `input:"a,shape=2x0"`
	}
	type missing struct{ A *int }
	type lengths struct {
		A []int `input:"a,shape=3"`
	}
	type twice struct {
		A int `input:"x"`
		B int `input:"x"`
	}
	type none struct{ a int }
	type badDefault struct {
		A *int `input:"a,default=red"`
	}
	_ = none{1}.a
	for want, err := range map[string]error{
		`column "In": a field of type`: second(FromStructs([]nested{{}}, ArrowOptions{})),
		`column "At": a field of type time.Time has no tensor form: expected numbers`: second(FromStructs([]when{{}}, ArrowOptions{})),
		`field A: unknown option "lable" of its tag: expected label, weight`:          second(FromStructs([]tag{{}}, ArrowOptions{})),
		`option "shape=2x0" of its tag: bad dimension "0"`:                            second(FromStructs([]shape{{}}, ArrowOptions{})),
		`row 2: column "A": value is missing, its pointer is nil`:                     second(FromStructs([]missing{{new(int)}, {}}, ArrowOptions{})),
		`row 1: column "a": value has 2 elements, expected 3`:                         second(FromStructs([]lengths{{[]int{1, 2}}}, ArrowOptions{})),
		`column "x" occurs twice`:                                                     second(FromStructs([]twice{{}}, ArrowOptions{})),
		`has no field to read`:                                                        second(FromStructs([]none{{}}, ArrowOptions{})),
		`column "a": its default: value "red" is not an int64 number`:                 second(FromStructs([]badDefault{{}}, ArrowOptions{})),
		`rows are of type int, expected a struct`:                                     second(FromStructs([]int{1}, ArrowOptions{})),
		`has no element`: second(FromStructs([]tagged{}, ArrowOptions{})),
		`unknown column "y": inputs.tagged has x, y2`:        second(FromStructs([]tagged{{}}, ArrowOptions{Columns: []ColumnSpec{{Name: "y"}}})),
		`row 2: the row is a nil pointer`:                    second(FromStructs([]*tagged{{}, nil}, ArrowOptions{})),
		`resume must be error, skip or restart, got "again"`: second(FromChannel(make(chan tagged), StreamOptions{Resume: "again"})),
		`got a nil channel`:                                  second(FromChannel[tagged](nil, StreamOptions{})),
		`got no function`:                                    second(FromFunc[tagged](nil, ArrowOptions{})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

type tagged struct {
	X float32 `json:"x"`
	Y int     `json:"y" input:"y2"`
}

func second[D any](_ D, err error) error { return err }

// TestFailingProducer: rows before the failure arrive, then the failure with its row, on every further call.
func TestFailingProducer(t *testing.T) {
	broken := errors.New("broken")
	for name, ds := range map[string]Dataset{
		"function": must[Dataset](t)(FromFunc(yield(samples(300), broken), ArrowOptions{Allocator: checked(t)})),
		"nil row":  must[Dataset](t)(FromFunc(yield(append(samples(300), nil), nil), ArrowOptions{Allocator: checked(t)})),
		"query": func() Dataset {
			table := numbersTable(300)
			table.fail = broken
			return must[Dataset](t)(FromQuery(t.Context(), table.open(t), "", nil, ArrowOptions{Allocator: checked(t)}))
		}(),
	} {
		for _, depth := range []int{0, 2} {
			it := iterate(t, Pipe(ds, Prefetch(depth)))
			rows := int64(0)
			for {
				rec, err := it.Next(t.Context())
				if err == nil {
					rows += rec.NumRows()
					rec.Release()
					continue
				}
				var at *DataError
				if rows != 300 || !errors.As(err, &at) || at.Row != 301 || name != "nil row" && !errors.Is(err, broken) {
					t.Errorf("%s, prefetch %d: after %d rows: %v", name, depth, rows, err)
				}
				if _, again := it.Next(t.Context()); again == nil || again.Error() != err.Error() {
					t.Errorf("%s: the next call got %v", name, again)
				}
				break
			}
		}
	}
}

// TestChannelStopsEarly: a pass that waits for a channel ends with its context, and the rows it took stay for the next call.
func TestChannelStopsEarly(t *testing.T) {
	ch := make(chan tagged, 3)
	ch <- tagged{X: 1}
	ch <- tagged{X: 2}
	ds := must[Dataset](t)(FromChannel(ch, StreamOptions{ArrowOptions: ArrowOptions{Allocator: checked(t)}}))
	it := iterate(t, Pipe(ds, Batch(3, false)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(ch) > 0 { // until both were received
			time.Sleep(time.Microsecond)
		}
		cancel()
	}()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	ch <- tagged{X: 3}
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](ts[0].Tensor); !cmp.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}

// TestResume restores a position after 20 of 40 rows, for a channel that sends all rows again and one that sends the rest.
func TestResume(t *testing.T) {
	open := func(from int, resume Resume, steps ...Transform) Iterator {
		ch := make(chan *sample, 40)
		for _, e := range samples(40)[from:] {
			ch <- e
		}
		close(ch)
		return iterate(t, Pipe(must[Dataset](t)(FromChannel(ch, StreamOptions{Resume: resume, ArrowOptions: ArrowOptions{Allocator: checked(t)}})), steps...))
	}
	schema := must[Indexed](t)(FromStructs(samples(1), ArrowOptions{})).Schema()
	for name, steps := range map[string][]Transform{
		"batches": {Batch(5, false)}, "read ahead": {Batch(5, false), Prefetch(1)}, "mapped": {Batch(5, false), ParallelMap(Mapper{Name: "same", Map: keepRecord}, 2), Prefetch(1)},
	} {
		it := open(0, "", steps...)
		want := drain(t, open(0, "", steps...), schema, 100)
		drain(t, it, schema, 4)
		state, err := it.State()
		if err != nil {
			t.Fatal(err)
		}
		if err := open(0, ResumeError, steps...).Restore(state); !errors.Is(err, ErrNoResume) {
			t.Errorf("%s: resume error: got %v", name, err)
		}
		for from, resume := range map[int]Resume{0: ResumeSkip, 20: ResumeRestart} {
			it := open(from, resume, steps...)
			if err := it.Restore(state); err != nil {
				t.Fatalf("%s: resume %s: %v", name, resume, err)
			}
			if d := cmp.Diff(want[4:], drain(t, it, schema, 100)); d != "" {
				t.Errorf("%s: resume %s: %s", name, resume, d)
			}
		}
		if err := open(30, ResumeSkip, steps[0]).Restore(state); name == "batches" && !errors.Is(err, ErrStateMismatch) {
			t.Errorf("too few rows to skip: got %v", err)
		}
	}
}

func keepRecord(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
	in.Retain()
	return in, nil
}

func TestFromRows(t *testing.T) {
	db := numbersTable(5).open(t)
	rows, err := db.QueryContext(t.Context(), "select")
	if err != nil {
		t.Fatal(err)
	}
	ds := must[Dataset](t)(FromRows(rows, StreamOptions{ArrowOptions: ArrowOptions{Allocator: checked(t)}}))
	if got := ds.Schema().String(); got != "x float64 feature, id int64 feature, word string feature" {
		t.Fatalf("got %s", got)
	}
	if got := drain(t, iterate(t, Pipe(ds, Batch(5, true))), ds.Schema(), 9); len(got) != 1 || !strings.Contains(got[0], `["w0" "w1" "w2" "w3" "w4"]`) {
		t.Errorf("got %q", got)
	}
	if _, err := iterate(t, ds).Next(t.Context()); !errors.Is(err, ErrNoResume) || !strings.Contains(err.Error(), "FromQuery") {
		t.Errorf("second pass: got %v", err)
	}
}

func TestQueryTypes(t *testing.T) {
	table := numbersTable(3)
	table.scans = []reflect.Type{reflect.TypeFor[sql.NullFloat64](), reflect.TypeFor[int32](), reflect.TypeFor[sql.RawBytes]()}
	table.rows[1] = []driver.Value{nil, int64(7), []byte("blue")}
	ds, err := FromQuery(t.Context(), table.open(t), "select", []any{2}, ArrowOptions{Columns: []ColumnSpec{
		{Name: "word", Role: Label, Vocabulary: []string{"w0", "blue"}}, {Name: "x", Default: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); got != "word int64 label, x float64 feature" {
		t.Fatalf("got %s", got)
	}
	if d := cmp.Diff([]int64{0, 1}, flat(ids(t, ds))); d != "" {
		t.Error(d)
	}
}

func TestQueryErrors(t *testing.T) {
	get := func(change func(*table), columns ...ColumnSpec) error {
		table := numbersTable(3)
		change(table)
		ds, err := FromQuery(t.Context(), table.open(t), "select", nil, ArrowOptions{Columns: columns, Allocator: checked(t)})
		for err == nil {
			it := iterate(t, ds)
			rec, fail := it.Next(t.Context())
			if fail == nil {
				rec.Release()
				_, fail = it.Next(t.Context())
			}
			err = fail
		}
		return err
	}
	for want, err := range map[string]error{
		`row 2: column "x": value is NULL: give the column a default`: get(func(t *table) { t.rows[1][0] = nil }),
		`row 3: column "id": value "seven" is not an int64 number`:    get(func(t *table) { t.rows[2][1] = "seven" }),
		`row 1: column "x": value is a time`:                          get(func(t *table) { t.rows[0][0] = time.Time{} }),
		`column "x": type "POINT" of the database has no tensor form`: get(func(t *table) { t.types[0] = "POINT" }),
		`unknown column "y": the query has x, id, word`:               get(func(*table) {}, ColumnSpec{Name: "y"}),
		`column "word" occurs twice`:                                  get(func(t *table) { t.columns[0] = "word" }),
		`query "wrong": syntax error`:                                 second(FromQuery(t.Context(), numbersTable(1).open(t), "wrong", nil, ArrowOptions{})),
	} {
		if err == nil || eof(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	if err := get(func(*table) {}); err != io.EOF {
		t.Errorf("good rows: got %v", err)
	}
}

// liveSources returns the sources of this file, for the table of all data sets.
func liveSources(t testing.TB, mem memory.Allocator) map[string]Dataset {
	o := ArrowOptions{Allocator: mem}
	query := must[Dataset](t)(FromQuery(t.Context(), numbersTable(37).open(t), "select", nil, o))
	function := must[Dataset](t)(FromFunc(yield(samples(300), nil), o))
	return map[string]Dataset{
		"structs": must[Indexed](t)(FromStructs(samples(300), o)), "function": function, "query": query,
		"function in batches": Pipe(function, Shuffle(20, 1), Repeat(2), Batch(70, false), Prefetch(2)), "query read ahead": Pipe(query, Batch(5, false), Prefetch(1)),
	}
}
