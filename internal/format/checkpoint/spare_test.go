package checkpoint

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestSpare: the spared checkpoint stays however many are newer, in the next run too if that spares it, and goes once another is spared.
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
	spare(s, "model.ckpt-7") // 6 is listed still
	check("one of the list", 6, 7)
	mustSave(t, s, 8, 9)
	check("which then goes", 7, 8, 9)
}
