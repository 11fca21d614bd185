package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCommittedFilesAreCurrent generates every set again and compares it with the committed files, except the first line (the
// command).
func TestCommittedFilesAreCurrent(t *testing.T) {
	for set := range sets {
		t.Run(set, func(t *testing.T) {
			dir := t.TempDir()
			assembly, stubs := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.go")
			out, err := exec.Command("go", "run", ".", "-set", set, "-pkg", "kernels", "-out", assembly, "-stubs", stubs).CombinedOutput()
			if err != nil {
				t.Fatalf("generate: %v: %s", err, out)
			}
			for made, committed := range map[string]string{assembly: ".s", stubs: ".go"} {
				name := filepath.Join("..", set+"_gen_amd64"+committed)
				if !bytes.Equal(body(t, made), body(t, name)) {
					t.Errorf("%s is not what the generator writes: run go generate in internal/runtime/kernels", name)
				}
			}
		})
	}
}

// body returns a file without its first line.
func body(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	return rest
}
