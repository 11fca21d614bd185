package inputs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// folded returns a data set with a class, group, number, date and id for each row.
func folded(t testing.TB, classes, groups []int64) Indexed {
	t.Helper()
	n := len(classes)
	dates, ids, times := make([]string, n), make([]int64, n), make([]float32, n)
	for i := range n {
		dates[i], ids[i], times[i] = fmt.Sprintf("20%02d-03-0%d", 99-i%100, 1+i/100), int64(i), -float32(i)
	}
	ds, err := Slices(checked(t), Slice("class", Feature, classes), Slice("group", Feature, groups), Slice("time", Feature, times), Strings("date", Feature, dates), Slice("id", Label, ids))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func foldings(n int) []Folding {
	return []Folding{{Folds: n}, {Folds: n, Stratify: "class"}, {Folds: n, Group: "group"}, {Folds: n, Time: "time"}, {Folds: n, Time: "date"}, {Folds: n, Time: FileOrder}}
}

// TestFoldsDivideRows: each row is held out once, or never if it is in the first block by time; folds train on the other rows.
func TestFoldsDivideRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(r, "rows")
		classes := rapid.SliceOfN(rapid.Int64Range(0, 4), n, n).Draw(r, "classes")
		groups := rapid.SliceOfN(rapid.Int64Range(0, 9), n, n).Draw(r, "groups")
		folds := rapid.IntRange(2, 6).Draw(r, "folds")
		size := rapid.IntRange(1, 9).Draw(r, "batch")
		ds := folded(t, classes, groups)
		for _, f := range foldings(folds) {
			of := map[int64]int{} // the fold that holds out a row
			for k := range folds {
				out := flat(ids(t, Pipe(ds, f.Keep(k, true), Batch(size, false))))
				in := flat(ids(t, Pipe(streamOf(ds), f.Keep(k, false), Batch(3, false))))
				for _, id := range out {
					if _, twice := of[id]; twice {
						r.Fatalf("%+v: row %d is held out twice", f, id)
					}
					of[id] = k
					if slices.Contains(in, id) {
						r.Fatalf("%+v: row %d is in both parts of fold %d", f, id, k)
					}
				}
				if f.Time == "" && len(in)+len(out) != n {
					r.Fatalf("%+v: fold %d has %d and %d of %d rows", f, k, len(in), len(out), n)
				}
			}
			if f.Time == "" && len(of) != n {
				r.Fatalf("%+v: %d of %d rows are held out", f, len(of), n)
			}
			checkFolds(r, f, of, classes, groups)
		}
	})
}

// checkFolds checks the properties of a folding.
func checkFolds(r *rapid.T, f Folding, of map[int64]int, classes, groups []int64) {
	perClass, group := map[[2]int64]int{}, map[int64]int{}
	for id, k := range of {
		perClass[[2]int64{classes[id], int64(k)}]++
		if old, ok := group[groups[id]]; f.Group != "" && ok && old != k {
			r.Fatalf("group %d is in folds %d and %d", groups[id], old, k)
		}
		group[groups[id]] = k
	}
	for c := range int64(5) {
		least, most := len(of), 0
		for k := range f.Folds {
			least, most = min(least, perClass[[2]int64{c, int64(k)}]), max(most, perClass[[2]int64{c, int64(k)}])
		}
		if f.Stratify != "" && most-least > 1 {
			r.Fatalf("class %d has %d to %d rows in a fold", c, least, most)
		}
	}
	for id := range int64(len(classes)) {
		k, held := of[id]
		if !held {
			k = -1
		}
		before, ok := of[id-1]
		switch {
		case id == 0 || f.Time == "" || len(classes) > 100:
		case f.Time == FileOrder && ok && k < before, f.Time != FileOrder && ok && k > before: // times descend
			r.Fatalf("%+v: row %d is in fold %d, the one before in %d", f, id, k, before)
		}
	}
}

func TestFoldsByTime(t *testing.T) {
	ds := folded(t, make([]int64, 12), make([]int64, 12)) // times descend
	for _, name := range []string{"time", "date"} {
		f := Folding{Folds: 3, Time: name}
		want := [][]int64{{6, 7, 8}, {3, 4, 5}, {0, 1, 2}}
		for k := range 3 {
			if d := cmp.Diff(want[k], flat(ids(t, f.Keep(k, true)(ds)))); d != "" {
				t.Errorf("%s, fold %d held out: %s", name, k, d)
			}
			if got := flat(ids(t, f.Keep(k, false)(ds))); len(got) != 3*(k+1) || got[0] != int64(9-3*k) {
				t.Errorf("%s, fold %d trains on %v", name, k, got)
			}
		}
	}
	// Rows with the same time stay together.
	same, err := Slices(nil, Slice("time", Feature, []int64{1, 2, 2, 2, 2, 3}), Slice("id", Label, []int64{0, 1, 2, 3, 4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	f := Folding{Folds: 2, Time: "time"}
	if a, b := flat(ids(t, f.Keep(0, true)(same))), flat(ids(t, f.Keep(1, true)(same))); len(a) != 0 || !slices.Equal(b, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("got %v and %v", a, b)
	}
}

// TestFoldsByTimesWithZones: times are compared as instants, in the forms that Arrow columns and databases have.
func TestFoldsByTimesWithZones(t *testing.T) {
	ds, err := Slices(nil, Strings("at", Feature, []string{"2024-12-31 23:00:00+0100", "2024-12-31 22:30:00Z", "2025-01-01 00:00:00+0100", "2024-12-31T20:00:00-0500"}), Slice("id", Label, []int64{0, 1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	f := Folding{Folds: 3, Time: "at"}
	for k, want := range [][]int64{{1}, {2}, {3}} {
		if got := flat(ids(t, f.Keep(k, true)(ds))); !slices.Equal(got, want) {
			t.Errorf("fold %d holds out %v, expected %v", k, got, want)
		}
	}
}

// TestZerosAreOneGroup: 0 and -0 are equal, so they are one group and one class.
func TestZerosAreOneGroup(t *testing.T) {
	zero := float32(math.Copysign(0, -1))
	ds, err := Slices(nil, Slice("x", Feature, []float32{0, zero, 1, zero, 0}), Slice("wide", Feature, []float64{0, float64(zero), 1, float64(zero), 0}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"x": "[0 0 1 0 0]", "wide": "[0 0 1 0 0]"} {
		it := iterate(t, Project("fold")(Folding{Folds: 2, Group: name}.Number("fold")(ds)))
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rec.Column(0)); got != want {
			t.Errorf("%s: got %s, expected %s", name, got, want)
		}
		rec.Release()
	}
}

func TestFoldNumbers(t *testing.T) {
	ds := folded(t, []int64{5, 5, 7, 5, 7, 9}, []int64{4, 4, 2, 2, 8, 4})
	for want, f := range map[string]Folding{
		"[0 1 0 1 0 1]": {Folds: 2}, "[0 1 1 0 0 0]": {Folds: 2, Stratify: "class"}, "[0 0 1 1 0 0]": {Folds: 2, Group: "group"},
		"[-1 -1 0 0 1 1]": {Folds: 2, Time: FileOrder}, "[1 1 0 0 -1 -1]": {Folds: 2, Time: "time"},
	} {
		numbered := Project("fold")(f.Number("fold")(ds))
		it := iterate(t, numbered)
		rec, err := it.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rec.Column(0)); got != want {
			t.Errorf("%+v: got %s, want %s", f, got, want)
		}
		rec.Release()
	}
}

func TestFoldsRefuse(t *testing.T) {
	nan := float32(0)
	nan /= nan
	ds, err := Slices(nil, Slice("x", Feature, []float32{1, nan}), Slice("v", Feature, []float32{1, 2, 3, 4}, 2), Strings("s", Feature, []string{"2020-01-01", "soon"}), Strings("m", Feature, []string{"2020-01-01", "3"}))
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]Folding{
		"at least 2 folds": {Folds: 1, Stratify: "x"}, `unknown column "y"`: {Folds: 2, Group: "y"}, "exclude each other": {Folds: 2, Group: "x", Time: "x"},
		`column "x", row 2: value NaN`: {Folds: 2, Stratify: "x"}, "several values": {Folds: 2, Stratify: "v"}, "NaN is no time": {Folds: 2, Time: "x"},
		`"soon" is no time`: {Folds: 2, Time: "s"}, "a number among dates": {Folds: 2, Time: "m"},
	} {
		_, err := drainAll(f.Keep(0, true)(ds))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", f, err, want)
		}
	}
	if _, err := drainAll(Folding{Folds: 3, Group: "x"}.Keep(3, true)(ds)); err == nil || !strings.Contains(err.Error(), "[0, 3)") {
		t.Errorf("held out fold 3 of 3: %v", err)
	}
}

func drainAll(ds Dataset) (int, error) {
	it, err := ds.Iterate(context.Background())
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for n := 0; ; {
		rec, err := it.Next(context.Background())
		if eof(err) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += int(rec.NumRows())
		rec.Release()
	}
}

// TestSplitColumns: a split can use columns that the model does not get, in every mode and on every worker.
func TestSplitColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "x,who,y\n"
	for i := range 20 {
		text += fmt.Sprintf("%d,p%d,%s\n", i, i%5, []string{"no", "yes"}[i/15])
	}
	if err := os.WriteFile("a.csv", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Format: "csv", Files: []string{"a.csv"}, Header: true, BatchSize: 4, Columns: []ColumnSpec{{Name: "x", DType: "int64"},
		{Name: "who", Role: Ignore}, {Name: "y", Role: Label, Vocabulary: []string{"no", "yes"}}}}
	rows := func(split SplitSpec, ic Context) []int64 {
		t.Helper()
		s := spec
		s.Split = split
		ds, err := Open(t.Context(), s, ic)
		if err != nil {
			t.Fatal(err)
		}
		wantColumns := 2
		if ic.Mode == Predict {
			wantColumns = 1
		}
		if n := len(ds.Schema().Columns()); n != wantColumns {
			t.Fatalf("%v: %d columns", ic.Mode, n)
		}
		var out []int64
		it := iterate(t, ds)
		for {
			rec, err := it.Next(t.Context())
			if eof(err) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(rec.NumRows()) {
				x, _ := int64At(rec.Column(0), i)
				out = append(out, x)
			}
			rec.Release()
		}
	}
	for _, split := range []SplitSpec{{Folds: 5, HeldOut: 1, Part: "eval", Stratify: "y"}, {Folds: 5, HeldOut: 1, Part: "eval", Group: "who"}, {Folds: 5, HeldOut: 1, Part: "eval", Time: "x"}} {
		want := rows(split, Context{Mode: Eval})
		if got := rows(split, Context{Mode: Predict}); !slices.Equal(got, want) {
			t.Errorf("%+v: predicted are %v, evaluated %v", split, got, want)
		}
		var shared []int64
		for i := range 3 {
			shared = append(shared, rows(split, Context{Mode: Eval, Pipeline: i, NumPipelines: 3})...)
		}
		slices.Sort(shared)
		if !slices.Equal(shared, want) || len(want) < 3 {
			t.Errorf("%+v: workers have %v, want %v", split, shared, want)
		}
	}
	endless := Spec{Format: "glyphs", BatchSize: 1, Shard: "auto", Delimiter: ",", Split: SplitSpec{Folds: 2, Part: "eval", Time: FileOrder}}
	if err := endless.Validate(); err == nil || !strings.Contains(err.Error(), "no end") {
		t.Errorf("endless rows by time: %v", err)
	}
}

// TestManyGroups: groups beyond the remembered ones also stay whole, and damaged positions are refused.
func TestManyGroups(t *testing.T) {
	n := mostFoldValues + 1000
	groups := make([]int64, 2*n)
	for i := range groups {
		groups[i] = int64(i % n)
	}
	ds, err := Slices(nil, Slice("group", Feature, groups))
	if err != nil {
		t.Fatal(err)
	}
	f := Folding{Folds: 3, Group: "group"}
	total := 0
	for k := range 3 {
		got, err := drainAll(f.Keep(k, true)(ds))
		if err != nil || got%2 != 0 || got < 2*n/3-1000 {
			t.Errorf("fold %d has %d rows, %v", k, got, err)
		}
		total += got
	}
	if total != 2*n {
		t.Errorf("%d of %d rows are held out", total, 2*n)
	}
	if _, err := drainAll(Folding{Folds: 3, Stratify: "group"}.Keep(0, true)(ds)); err == nil || !strings.Contains(err.Error(), "more than 65536 values") {
		t.Errorf("stratified: %v", err)
	}
	v := &byValue{}
	w := &stateWriter{}
	w.int(1)
	w.bytes([]byte("short"))
	w.int(3)
	if err := v.load(&stateReader{buf: w.all()}); !errors.Is(err, ErrBadState) {
		t.Errorf("damaged: %v", err)
	}
}
