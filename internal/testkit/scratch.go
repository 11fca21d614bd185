package testkit

import (
	"os"
	"testing"
	"time"
)

// scratchTime is how long removing a folder is retried.
const scratchTime = 30 * time.Second

// Scratch returns a new folder for a program that may leave processes behind, as
// browsers do, which write for another moment. It is removed with the test;
// unlike TB.TempDir, Scratch retries this.
func Scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "goestimator-scratch-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		until := time.Now().Add(scratchTime)
		for err := os.RemoveAll(dir); err != nil; err = os.RemoveAll(dir) {
			if <-again.C; time.Now().After(until) {
				t.Error(err)
				return
			}
		}
	})
	return dir
}
