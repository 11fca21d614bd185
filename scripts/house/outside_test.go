package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOutsideModule checks that go.sum of the module in examples/outside has the sums of all that the project imports.
func TestOutsideModule(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "outside")
	if _, err := os.ReadFile(filepath.Join(dir, "go.sum")); err != nil { // so that go test reruns this after a change of go.sum
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: run GOFLAGS=-mod=mod go mod tidy in examples/outside\n%s", err, out)
	}
}
