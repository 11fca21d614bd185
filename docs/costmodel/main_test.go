package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/report/costmodel"
)

func TestComparedWithoutAndWithRecording(t *testing.T) {
	dir := t.TempDir()
	var w bytes.Buffer
	if err := compared(&w, dir); err != nil || !strings.Contains(w.String(), "No all-reduce was recorded") {
		t.Fatalf("%v: %s", err, w.String())
	}
	text := `{"subject":"allreduce","unit":"GB/s","cores":2,"rows":[
		{"case":"2x4KB","threads":1,"contender":"goestimator","median":0.05},
		{"case":"2x100MB","threads":1,"contender":"goestimator","median":1},
		{"case":"4x100MB","threads":1,"contender":"goestimator","median":0.5}]}`
	if err := os.WriteFile(filepath.Join(dir, "allreduce.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Reset()
	if err := compared(&w, dir); err != nil || !strings.Contains(w.String(), "| allreduce 4x100MB |") {
		t.Fatalf("%v: %s", err, w.String())
	}
}

func TestScenariosArePossible(t *testing.T) {
	for _, s := range scenarios {
		for _, kind := range strategies {
			for _, n := range []int{1, 8, 64, 512} {
				if p, err := costmodel.Predict(kind, cluster(n), s.job); err != nil || p.Rate <= 0 {
					t.Errorf("%s, %v, %d workers: %+v, %v", s.name, kind, n, p, err)
				}
			}
		}
	}
}
