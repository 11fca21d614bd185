package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// built is the folder of the built program, or "".
var built string

// Program returns the path of goestimator, built once per process, or the path
// in GOESTIMATOR_BINARY. A TestMain calls RemoveProgram at the end.
var Program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("GOESTIMATOR_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "goestimator-program-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "goestimator")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/goestimator")
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// RemoveProgram removes the program that Program built.
func RemoveProgram() {
	if built != "" {
		os.RemoveAll(built)
	}
}
