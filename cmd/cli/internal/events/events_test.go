package events

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
)

// write writes an event file filled by fill.
func write(t *testing.T, dir string, fill func(w *summary.FileWriter) error) string {
	t.Helper()
	w := summary.NewFileWriter(dir, summary.Options{})
	if err := errors.Join(fill(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return w.Path()
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	weights, err := tensor.FromSlice([]float32{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	histogram, err := summary.Histogram("weights", weights)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, func(w *summary.FileWriter) error {
		return errors.Join(w.Scalar(1, "loss", 3), w.Scalar(5, "loss", 2), w.Scalar(9, "loss", 1), w.Add(summary.GraphEvent(0, []byte("abc"))),
			// A restart from step 5 discards 9.
			w.Add(summary.SessionStart(6)), w.Scalar(7, "loss", 1.5), w.Values(7, histogram, summary.Text("note", "hello")))
	})
	write(t, filepath.Join(dir, "eval"), func(w *summary.FileWriter) error { return w.Scalar(5, "accuracy", 0.5) })
	runs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || runs[0].Name != "." || runs[1].Name != "eval" {
		t.Fatalf("got runs %v, expected . and eval", runs)
	}
	loss, _ := runs[0].Tag("loss")
	var got []float64
	for _, p := range loss.Points {
		got = append(got, float64(p.Step), p.Scalar)
	}
	if d := cmp.Diff([]float64{1, 3, 5, 2, 7, 1.5}, got); d != "" {
		t.Errorf("loss (-want +got):\n%s", d)
	}
	kinds := map[string]Kind{}
	for _, tag := range runs[0].Tags {
		kinds[tag.Name] = tag.Kind
	}
	if d := cmp.Diff(map[string]Kind{"loss": Scalar, "weights": Histogram, "note": Text, "graph": Graph}, kinds); d != "" {
		t.Errorf("kinds (-want +got):\n%s", d)
	}
	if note, _ := runs[0].Tag("note"); note.Last().Text != "hello" {
		t.Errorf("note: %q", note.Last().Text)
	}
	if _, ok := runs[0].Tag("colour"); ok {
		t.Error("a tag that was not written was found")
	}
}

func TestLoadDamaged(t *testing.T) {
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
	runs, err := Load(path)
	var corrupt *summary.CorruptError
	if !errors.As(err, &corrupt) {
		t.Errorf("got %v, expected a CorruptError", err)
	}
	if loss, _ := runs[0].Tag("loss"); len(loss.Points) != 1 {
		t.Errorf("got %v, expected the value before the damage", loss.Points)
	}
	if _, err := Load(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, expected ErrNotExist", err)
	}
}
