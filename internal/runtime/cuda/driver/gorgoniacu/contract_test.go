//go:build cu

package gorgoniacu

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
)

// TestContract needs a GPU: without one, gorgonia.org/cu ends the process.
func TestContract(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	drivertest.Run(t, d)
}

// TestPeers needs two GPUs.
func TestPeers(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	drivertest.RunPeers(t, d)
}
