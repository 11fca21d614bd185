package costmodel

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// record writes the model's own predictions as if they had been measured.
func record(t *testing.T, dir string, n Network) {
	t.Helper()
	r := map[string]any{"subject": "allreduce", "unit": "GB/s", "cores": 2}
	var rows []map[string]any
	for _, x := range []struct {
		name    string
		workers int
		bytes   float64
	}{{"2x4KB", 2, 4e3}, {"2x1MB", 2, 1e6}, {"2x100MB", 2, 100e6}, {"4x16MB", 4, 16e6}} {
		p := predict(t, RingStrategy, Cluster{n, x.workers, 0}, Job{Dense: x.bytes, Direct: directBytes})
		sent := 2 * float64(x.workers-1) / float64(x.workers) * x.bytes
		rows = append(rows, map[string]any{"case": x.name, "threads": 1, "contender": "goestimator", "median": sent / p.Step / 1e9},
			map[string]any{"case": x.name, "threads": 1, "contender": "raw TCP", "median": 9})
	}
	r["rows"] = rows
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "allreduce.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFitFindsTheNetworkAndPredicts(t *testing.T) {
	dir := t.TempDir()
	want := Network{Latency: 80e-6, Bandwidth: 1.5e9, Shared: 3e9, Cores: 2}
	record(t, dir, want)
	r, err := Load(dir, "allreduce")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Fit(r)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "latency", got.Latency, want.Latency, 0.05)
	near(t, "bandwidth", got.Bandwidth, want.Bandwidth, 0.05)
	all := Compare(r, got)
	if len(all) != 4 {
		t.Fatalf("%d cases, expected 4", len(all))
	}
	for _, c := range all {
		if math.Abs(c.Error()) > 0.05 {
			t.Errorf("%s: %v s, predicted %v", c.Case, c.Measured, c.Predicted)
		}
	}
}

func TestRecordingsThatDoNotServe(t *testing.T) {
	dir := t.TempDir()
	if r, err := Load(dir, "allreduce"); r != nil || err != nil {
		t.Errorf("of no file: %v, %v", r, err)
	}
	for _, text := range []string{"{", `{"unit":"ms"}`} {
		if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, "x"); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if _, err := Fit(&Recording{}); err == nil {
		t.Error("a network from nothing")
	}
	if got := Compare(&Recording{Rows: nil}, Network{}); got != nil {
		t.Errorf("got %v", got)
	}
}
