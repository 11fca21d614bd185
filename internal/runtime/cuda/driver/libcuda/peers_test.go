package libcuda

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
)

// TestPeersOnGPU needs two GPUs.
func TestPeersOnGPU(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	drivertest.RunPeers(t, d)
}

func TestPeersOnStub(t *testing.T) {
	d, err := start(stub(t))
	if err != nil {
		t.Fatal(err)
	}
	drivertest.RunPeers(t, d)
}
