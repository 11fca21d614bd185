package inputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestStateMismatch: the error begins with the setting to change back.
func TestStateMismatch(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("1,2\n3,4\n5,6\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	spec := Spec{Format: "csv", Files: []string{file("a.csv"), file("b.csv")}, Columns: []ColumnSpec{{Name: "x"}, {Name: "y"}}, Shuffle: 10, Repeat: true, BatchSize: 2}
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Files = []string{file("a.csv"), file("c.csv")} }, "name the input's file b.csv again, which is c.csv now"},
		{func(s *Spec) { s.Files = []string{s.Files[1], s.Files[0]} }, "give the input its files in the order that they had again"},
		{func(s *Spec) { s.Files = s.Files[:1] }, "give the input its files again that are gone: b.csv"},
		{func(s *Spec) { s.Files = append(s.Files[:2:2], file("c.csv")) }, "leave the input's new files out again: c.csv"},
		{func(s *Spec) {
			s.Files = nil
			for i := range 5 {
				s.Files = append(s.Files, file(fmt.Sprintf("n%d.csv", i)))
			}
		}, "give the input the files that it had again: gone are a.csv, b.csv; new are n0.csv, n1.csv, n2.csv and 2 more"},
		{func(s *Spec) { s.Columns = []ColumnSpec{{Name: "x"}, {Name: "z"}} }, "give the input the columns that it had again: gone are y float32 feature; new are z float32 feature"},
		{func(s *Spec) { s.Columns = []ColumnSpec{{Name: "x"}, {Name: "y", Role: Ignore}} }, "give the input the columns that it had again: gone are y float32 feature"},
		{func(s *Spec) { s.BatchSize = 3 }, "set the input's batch_size to 2 again, which is 3 now"},
		{func(s *Spec) { s.DropRemainder = true }, "set the input's drop_remainder to false again, which is true now"},
		{func(s *Spec) { s.Shuffle = 11 }, "set the input's shuffle to 10 again, which is 11 now"},
		{func(s *Spec) { s.Prefetch = 2 }, "leave out the input's step prefetch"},
		{func(s *Spec) { s.Repeat, s.Epochs = false, 3 }, "put the input's step repeat(0) back, where repeat(3) is now"},
		{func(s *Spec) { s.Repeat = false }, "put the input's step repeat(0) back"},
		{func(s *Spec) { s.Shuffle = 0 }, "put the input's step shuffle(10,7) back"},
		{func(s *Spec) { s.Take = 2 }, "leave out the input's step take(2)"},
		{func(s *Spec) { s.Skip, s.Take = 1, 2 }, "leave out the input's step skip(1)"},
		{func(s *Spec) { *s = Spec{Format: "glyphs", BatchSize: 2} }, "give the input the data csv(a.csv b.csv)[x float32 feature, y float32 feature] again, which is glyphs(7,0) now"},
	} {
		other := spec
		c.change(&other)
		err := restoreInto(t, spec, other)
		var mismatch *StateMismatchError
		if !errors.Is(err, ErrStateMismatch) || !errors.As(err, &mismatch) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	err := restoreInto(t, func() Spec { s := spec; s.Prefetch = 1; return s }(), spec)
	if want := "put the input's step prefetch back"; err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
	err = restoreInto(t, func() Spec { s := spec; s.Shuffle = 0; return s }(), spec)
	if want := "leave out the input's step shuffle(10,7)"; err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
}

// restoreInto restores a state of one pipeline into another.
func restoreInto(t *testing.T, from, to Spec) error {
	t.Helper()
	pass := func(s Spec) Iterator {
		ds, err := Open(context.Background(), s, Context{Mode: Train, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		it, err := ds.Iterate(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	a, b := pass(from), pass(to)
	defer a.Close()
	defer b.Close()
	state, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	return b.Restore(state)
}
