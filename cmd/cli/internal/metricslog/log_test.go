package metricslog

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kinds = []string{"csv", "jsonl"}

// open opens the logs of a folder with a fixed clock.
func open(t *testing.T, dir string) *Log {
	t.Helper()
	l, err := Open(dir, kinds)
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return time.Unix(0, 0) }
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t *testing.T, l *Log, phase string, steps ...int64) {
	t.Helper()
	for _, s := range steps {
		if err := l.Add(phase, s, []Value{{"loss", float64(s) / 4}, {"a,b\"c", math.NaN()}}); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir, kind string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "metrics."+kind))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever a killed process left at the end: resuming from step 2 gives the same files as one uninterrupted run.
func TestResume(t *testing.T) {
	whole := t.TempDir()
	l := open(t, whole)
	add(t, l, "train", 1, 2)
	add(t, l, "eval", 2)
	add(t, l, "train", 3, 4)
	add(t, l, "eval", 4)
	for _, kind := range kinds {
		want := read(t, whole, kind)
		for n := 0; n <= len(want); n += 7 {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "metrics."+kind), []byte(want[:n]), 0o666); err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir, []string{kind})
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", kind, n, err)
			}
			l.now = func() time.Time { return time.Unix(0, 0) }
			if err := l.Resume(0); err != nil {
				t.Fatal(err)
			}
			add(t, l, "train", 1, 2)
			add(t, l, "eval", 2, 2)
			if err := l.Resume(2); err != nil {
				t.Fatal(err)
			}
			add(t, l, "eval", 2)
			add(t, l, "train", 3, 4)
			add(t, l, "eval", 4)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, dir, kind); got != want {
				t.Fatalf("%s after %d bytes: got\n%s\nexpected\n%s", kind, n, got, want)
			}
		}
	}
}

// A log opened without Resume, as when there is nothing left to train, records no step twice.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, "eval", 0, 2)
	before := read(t, dir, "csv")
	add(t, open(t, dir), "eval", 0, 2)
	if got := read(t, dir, "csv"); got != before || strings.Count(got, "eval") != 4 {
		t.Errorf("got\n%s", got)
	}
}

func TestForeignFile(t *testing.T) {
	for kind, text := range map[string]string{"csv": "epoch,loss\n1,2\n", "jsonl": "{\"loss\": 1}\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "metrics."+kind), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, kinds); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", kind, err)
		}
		if got := read(t, dir, kind); got != text {
			t.Errorf("%s was changed to %q", kind, got)
		}
	}
	if _, err := Open(t.TempDir(), []string{"xml"}); err == nil {
		t.Error("an unknown kind was taken")
	}
}

// The lines of a run.
func Example() {
	dir, err := os.MkdirTemp("", "metrics")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := Open(dir, []string{"jsonl"})
	if err != nil {
		panic(err)
	}
	l.now = func() time.Time { return time.Unix(0, 0) }
	if err := l.Add("train", 1, []Value{{"loss", 0.5}}); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	fmt.Print(string(text), err, l.Close())
	// Output:
	// {"step":1,"phase":"train","time":"1970-01-01T00:00:00Z","metrics":{"loss":0.5}}
	// <nil> <nil>
}
