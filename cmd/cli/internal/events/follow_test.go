package events

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/google/go-cmp/cmp"
)

// curve returns the steps and values of a tag in the model_dir itself.
func curve(f *Follower, tag string) (out []float64) {
	for _, c := range f.Curves() {
		for i := range c.Steps {
			if c.Run == "." && c.Tag == tag {
				out = append(out, float64(c.Steps[i]), c.Values[i])
			}
		}
	}
	return out
}

func poll(t *testing.T, f *Follower, want bool) {
	t.Helper()
	changed, err := f.Poll()
	if err != nil || changed != want {
		t.Fatalf("changed %t, error %v, expected %t", changed, err, want)
	}
}

// A file is read as it grows: at any length, a Follower has the complete records, and no error.
func TestFollowGrowing(t *testing.T) {
	source := write(t, t.TempDir(), func(w *summary.FileWriter) error {
		return errors.Join(w.Scalar(1, "loss", 3), w.Scalar(2, "loss", 2), w.Scalar(3, "loss", 1))
	})
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	f := Follow(dir)
	poll(t, f, false) // there is no folder yet
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, filepath.Base(source)))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	changes := 0
	for i := range text {
		if _, err := out.Write(text[i : i+1]); err != nil {
			t.Fatal(err)
		}
		changed, err := f.Poll()
		if err != nil {
			t.Fatalf("after %d bytes: %v", i+1, err)
		}
		if changed {
			changes++
		}
	}
	if got := curve(f, "loss"); changes != 3 || !cmp.Equal(got, []float64{1, 3, 2, 2, 3, 1}) {
		t.Errorf("%d changes, got %v", changes, got)
	}
	poll(t, f, false)
}

// A restart discards the steps that it repeats; a folder that is written again is read again.
func TestFollowRestart(t *testing.T) {
	dir := t.TempDir()
	first := write(t, dir, func(w *summary.FileWriter) error {
		return errors.Join(w.Scalar(1, "loss", 3), w.Scalar(5, "loss", 2), w.Scalar(9, "loss", math.NaN()))
	})
	f := Follow(dir)
	poll(t, f, true)
	write(t, dir, func(w *summary.FileWriter) error {
		return errors.Join(w.Add(summary.SessionStart(6)), w.Scalar(7, "loss", 1), w.Scalar(7, "loss", 1.5), w.Scalar(2, "loss", 2.5))
	})
	write(t, filepath.Join(dir, "eval"), func(w *summary.FileWriter) error { return w.Scalar(5, "accuracy", 0.5) })
	poll(t, f, true)
	if got := curve(f, "loss"); !cmp.Equal(got, []float64{1, 3, 2, 2.5, 5, 2, 7, 1.5}) {
		t.Errorf("after a restart: %v", got)
	}
	if all := f.Curves(); len(all) != 2 || all[1].Run != "eval" || all[1].Tag != "accuracy" {
		t.Errorf("curves %v", all)
	}
	if err := errors.Join(os.Remove(first), os.RemoveAll(filepath.Join(dir, "eval"))); err != nil {
		t.Fatal(err)
	}
	poll(t, f, true)
	if got := curve(f, "loss"); !cmp.Equal(got, []float64{2, 2.5, 7, 1.5}) || len(f.Curves()) != 1 {
		t.Errorf("after a file was removed: %v", got)
	}
}

// Damage is reported, and hides neither earlier values nor other files.
func TestFollowDamaged(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, func(w *summary.FileWriter) error { return errors.Join(w.Scalar(1, "loss", 3), w.Scalar(2, "loss", 2)) })
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-6] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, dir, func(w *summary.FileWriter) error { return w.Scalar(3, "loss", 1) })
	f := Follow(dir)
	for range 2 {
		if _, err := f.Poll(); !errors.As(err, new(*summary.CorruptError)) {
			t.Errorf("got %v, expected a CorruptError", err)
		}
	}
	if got := curve(f, "loss"); !cmp.Equal(got, []float64{1, 3, 3, 1}) {
		t.Errorf("got %v", got)
	}
}

// A curve keeps its ends and its order when it is thinned.
func TestCurveThin(t *testing.T) {
	c := &Curve{}
	for i := range mostPoints + 1 {
		c.put(int64(i), float64(i))
	}
	if n := len(c.Steps); n != mostPoints/2+1 || c.Steps[0] != 0 || c.Steps[n-1] != mostPoints || c.Steps[1] != 2 {
		t.Errorf("%d points from %d to %d", n, c.Steps[0], c.Steps[n-1])
	}
}
