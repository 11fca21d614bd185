package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// built is the folder of the program that was built, "" where none was.
var built string

// Program returns the path of goestimator, built once a process, or of what
// GOESTIMATOR_BINARY names. A TestMain calls RemoveProgram in the end.
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

// RemoveProgram removes what Program built.
func RemoveProgram() {
	if built != "" {
		os.RemoveAll(built)
	}
}
