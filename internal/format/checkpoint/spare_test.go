package checkpoint

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestSpare: the spared checkpoint stays, however many newer ones there are, also in the next run if that spares it, until another one is spared.
func TestSpare(t *testing.T) {
	dir := t.TempDir()
	steps := func() (out []int64) {
		all, err := All(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			out = append(out, e.Step)
		}
		return out
	}
	check := func(when string, want ...int64) {
		t.Helper()
		if got := steps(); !slices.Equal(got, want) {
			t.Errorf("%s: checkpoints %v, expected %v", when, got, want)
		}
	}
	spare := func(s *Saver, name string) {
		t.Helper()
		if err := s.Spare(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := newSaver(t, dir, Options{MaxToKeep: 2})
	mustSave(t, s, 1, 2)
	spare(s, "model.ckpt-2")
	mustSave(t, s, 3, 4, 5)
	check("spared", 2, 4, 5)
	spare(s, "model.ckpt-2")
	check("spared again", 2, 4, 5)
	s = newSaver(t, dir, Options{MaxToKeep: 2})
	spare(s, "model.ckpt-2")
	mustSave(t, s, 6)
	check("in the next run", 2, 5, 6)
	spare(s, "model.ckpt-6")
	check("another", 5, 6)
	mustSave(t, s, 7)
	spare(s, "model.ckpt-7") // 6 is still on the list
	check("one of the list", 6, 7)
	mustSave(t, s, 8, 9)
	check("which then goes", 7, 8, 9)
}

// TestSpareIsRemembered: for any Options.KeepEveryNHours, a checkpoint spared by an ended process is deleted when the next process spares another,
// even immediately, and stays if that spares none.
func TestSpareIsRemembered(t *testing.T) {
	for _, hours := range []float64{0, 10000} {
		for next, want := range map[string][]int64{"": {1, 5, 6}, "model.ckpt-1": {1, 5, 6}, "model.ckpt-4": {4, 5, 6}, "model.ckpt-5": {5, 6}} {
			dir := t.TempDir()
			o := Options{MaxToKeep: 2, KeepEveryNHours: hours}
			s := newSaver(t, dir, o)
			mustSave(t, s, 1)
			if err := s.Spare(filepath.Join(dir, "model.ckpt-1")); err != nil {
				t.Fatal(err)
			}
			mustSave(t, s, 2, 3, 4, 5)
			s = newSaver(t, dir, o) // the previous Saver was not told that it ends
			if next != "" {
				if err := s.Spare(filepath.Join(dir, next)); err != nil {
					t.Fatal(err)
				}
			}
			mustSave(t, s, 6)
			all, err := All(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, e := range all {
				got = append(got, e.Step)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v hours, %q spared in the next run: checkpoints %v, expected %v", hours, next, got, want)
			}
		}
	}
}

// TestSparedIsSavedAgain: a spared checkpoint that is on the list again, as after a rollback, is not deleted when another is spared.
func TestSparedIsSavedAgain(t *testing.T) {
	dir := t.TempDir()
	s := newSaver(t, dir, Options{MaxToKeep: 2})
	mustSave(t, s, 1)
	if err := s.Spare(filepath.Join(dir, "model.ckpt-1")); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 2, 3, 1)
	if err := s.Spare(filepath.Join(dir, "model.ckpt-3")); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(filepath.Join(dir, "model.ckpt-1")); err != nil {
		t.Error(err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestSpareOfAll: a Saver that keeps all checkpoints also keeps one spared by an ended process.
func TestSpareOfAll(t *testing.T) {
	dir := t.TempDir()
	s := newSaver(t, dir, Options{MaxToKeep: 1})
	mustSave(t, s, 1)
	if err := s.Spare(filepath.Join(dir, "model.ckpt-1")); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 2, 3)
	s = newSaver(t, dir, Options{})
	mustSave(t, s, 4)
	if err := s.Spare(filepath.Join(dir, "model.ckpt-4")); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, 5)
	all, err := All(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 || all[0].Step != 1 {
		t.Errorf("checkpoints %v, expected 1, 3, 4 and 5", all)
	}
}
