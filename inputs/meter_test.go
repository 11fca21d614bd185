package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// handClock is a clock that mappers advance.
type handClock struct{ at time.Time }

// takes returns a mapper that takes d for each record.
func (c *handClock) takes(name string, d time.Duration) Mapper {
	return Mapper{Name: name, Map: func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
		if d > 0 {
			c.at = c.at.Add(d)
		}
		in.Retain()
		return in, nil
	}}
}

// wholePass reads a data set to its end.
func wholePass(t *testing.T, ctx context.Context, ds Dataset) {
	t.Helper()
	it, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
}

// TestMeter: a step's time is its own, without the steps before it, over all passes and epochs.
func TestMeter(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, make([]float32, 600)))
	if err != nil {
		t.Fatal(err)
	}
	c := &handClock{}
	d := Pipe(ds, Map(c.takes("first(1)", 3)), Repeat(2), Batch(100, false), Map(c.takes("second", 100)), Take(1000))
	m := NewMeter()
	m.now, m.every = func() time.Time { return c.at }, 1
	for pass := range 2 {
		wholePass(t, WithMeter(t.Context(), m), d)
		var got []string
		for _, s := range m.Steps() {
			got = append(got, fmt.Sprint(s.Name, s.Part, int64(s.Busy)/int64(pass+1)))
		}
		if want := []string{"records0 0", "map first0 30", "repeat0 0", "batch0 0", "map second0 1000", "take0 0"}; pass > 0 && !slices.Equal(got, want) {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

// TestMeterParts: steps that work in parallel are in different parts, the same in each pass.
func TestMeterParts(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, make([]float32, 600)))
	if err != nil {
		t.Fatal(err)
	}
	c := &handClock{}
	d := Pipe(ds, Batch(20, false), Prefetch(1), Filter("all", func(_ context.Context, _ arrow.Record, keep []bool) error {
		for i := range keep {
			keep[i] = true
		}
		return nil
	}), ParallelMap(Compose(c.takes("a(1)", 0), c.takes("b", 0)), 2), Take(500))
	m := NewMeter()
	for range 2 {
		wholePass(t, WithMeter(t.Context(), m), d)
		parts, steps := map[string]int{}, m.Steps()
		for _, s := range steps {
			parts[s.Name] = s.Part
		}
		apart := map[int]bool{parts["batch"]: true, parts["filter"]: true, parts["map a+b"]: true, parts["take"]: true}
		if len(steps) != 5 || len(parts) != 5 || len(apart) != 4 || parts["records"] != parts["batch"] || parts["take"] != 0 {
			t.Errorf("got %+v", steps)
		}
	}
}

// TestBottleneck: the busiest step of the busiest part since the first reading.
func TestBottleneck(t *testing.T) {
	steps := func(busy ...time.Duration) []StepTime {
		all := []StepTime{{"source", 1, 0}, {"shuffle", 1, 0}, {"map", 2, 0}, {"take", 0, 0}}[:len(busy)]
		for i, d := range busy {
			all[i].Busy = d
		}
		return all
	}
	for _, c := range []struct {
		before, after []StepTime
		want          string
	}{
		{nil, nil, ""}, {nil, steps(0, 0, 0, 0), ""}, {steps(5, 1, 1, 1), steps(5, 1, 1, 1), ""},
		{nil, steps(4, 5, 8, 1), "shuffle"}, {nil, steps(4, 5, 10, 1), "map"}, {nil, steps(0, 0, 0, 1), "take"},
		{steps(4, 5, 8, 1), steps(5, 5, 8, 1), "source"}, {steps(4, 5), steps(4, 5, 8, 1), "map"},
	} {
		if got := Bottleneck(c.before, c.after); got != c.want {
			t.Errorf("%v to %v: got %q, expected %q", c.before, c.after, got, c.want)
		}
	}
}

// TestStepNames: names are shown without settings.
func TestStepNames(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, make([]float32, 6)))
	if err != nil {
		t.Fatal(err)
	}
	m := NewMeter()
	wholePass(t, WithMeter(t.Context(), m), Pipe(ds, Shuffle(3, 1), Take(4), Batch(2, false), ParallelMap(Normalize(Normalization{Scale: 255}), 1), Prefetch(1)))
	var got []string
	for _, s := range m.Steps() {
		got = append(got, s.Name)
	}
	if want := []string{"shuffle of records", "take", "batch", "map normalize"}; !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

// TestSourceNames: the name tells the kind of source, not the query.
func TestSourceNames(t *testing.T) {
	query := querySpec("3")
	query.SQL.Query = "SELECT x, id FROM t"
	for want, s := range map[string]Spec{"sql": query, "csv of standard input": streamSpec("csv"), "jsonl of standard input": streamSpec("jsonl")} {
		text := "1,7\n"
		if s.Format == "jsonl" {
			text = `{"x":1,"id":7}`
		}
		ds, err := Open(t.Context(), s, Context{Mode: Train, Stdin: NewStream(strings.NewReader(text))})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMeter()
		wholePass(t, WithMeter(t.Context(), m), ds)
		if got := m.Steps()[0].Name; got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

// TestMeterChangesNothing: a measured pass has the same rows and positions.
func TestMeterChangesNothing(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, []float32{1, 2, 3, 4, 5, 6, 7}))
	if err != nil {
		t.Fatal(err)
	}
	d := Pipe(ds, Repeat(3), Shuffle(4, 1), Batch(2, false), ParallelMap((&handClock{}).takes("m", 0), 2), Prefetch(2))
	var states [2][]string
	for i, ctx := range []context.Context{t.Context(), WithMeter(t.Context(), NewMeter())} {
		it, err := d.Iterate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := it.Next(ctx)
			if err != nil {
				break
			}
			state, err := it.State()
			if err != nil {
				t.Fatal(err)
			}
			states[i] = append(states[i], rec.Column(0).String()+string(state))
			rec.Release()
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(states[0]) == 0 || !slices.Equal(states[0], states[1]) {
		t.Errorf("%q\n%q", states[0], states[1])
	}
}

// TestMeterOfARestoredPass: the steps before Prefetch are a part of their own even if a restored position opens them. Otherwise the race
// detector reports it.
func TestMeterOfARestoredPass(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, make([]float32, 600)))
	if err != nil {
		t.Fatal(err)
	}
	d := Pipe(ds, Repeat(3), Batch(10, false), Prefetch(2))
	ctx := WithMeter(t.Context(), NewMeter())
	it, err := d.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Restore(state); err != nil {
		t.Fatal(err)
	}
	ahead := unmetered(it.(*iterator).st).(*aheadStage)
	repeat := unmetered(unmetered(ahead.up).(*batchStage).up).(*repeatStage)
	if got := repeat.up.(laterStage).stage.(*meteredStage).part; got != partOf(ahead.ctx) || got == partOf(ctx) {
		t.Error("the restored source is measured with the consumer's part")
	}
	for range 100 {
		rec, err := it.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
}

// BenchmarkMeter measures the cost of a measured record: compare with and without.
func BenchmarkMeter(b *testing.B) {
	ds, err := Slices(nil, Slice("x", Feature, make([]float32, 512)))
	if err != nil {
		b.Fatal(err)
	}
	d := Pipe(ds, Repeat(0), Batch(128, false), Map((&handClock{}).takes("m", 0)))
	for name, ctx := range map[string]context.Context{"off": b.Context(), "on": WithMeter(b.Context(), NewMeter())} {
		b.Run(name, func(b *testing.B) {
			it, err := d.Iterate(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer it.Close()
			for b.Loop() {
				rec, err := it.Next(ctx)
				if err != nil {
					b.Fatal(err)
				}
				rec.Release()
			}
		})
	}
}
