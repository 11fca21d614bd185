package main

import (
	"os"
	"testing"
)

func TestParseRing(t *testing.T) {
	for _, bad := range []string{"", "2x", "1x4KB", "5x4KB", "2x4GB", "x4KB"} {
		if _, _, err := parseRing(bad); err == nil {
			t.Errorf("%q: expected an error", bad)
		}
	}
	if n, bytes, err := parseRing("4x1MB"); n != 4 || bytes != 1e6 || err != nil {
		t.Errorf("got %d, %d, %v", n, bytes, err)
	}
	if got := ringBytes("4x1MB"); got != 1.5e6 {
		t.Errorf("each sends %g bytes, expected 1.5e6", got)
	}
}

func TestRingWorkers(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("takes 1 GB: set GOESTIMATOR_ACCEPT=1")
	}
	f, err := allreduceField(t.Context(), settings{python: "none"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.contenders[:2] {
		w, err := start(t.Context(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer w.stop()
		if err := (job{field: &f}).correct(w); err != nil {
			t.Error(err)
		}
		if r, err := w.run(3, "4x4KB"); err != nil || r.Seconds <= 0 {
			t.Errorf("run: %+v, %v", r, err)
		}
	}
}
