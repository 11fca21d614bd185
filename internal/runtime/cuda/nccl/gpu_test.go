package nccl

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers/peerstest"
	"github.com/goestimator/goestimator/tensor"
)

// realRig returns the GPUs of this machine. It skips the test if there are none.
func realRig(t *testing.T) *peerstest.Rig {
	t.Helper()
	d, err := libcuda.Open()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	all, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	r := &peerstest.Rig{T: t}
	for i := range all {
		c, err := d.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		r.Devices, r.Streams = append(r.Devices, peers.Device{Context: c, Kernels: &kernels.Library{}}), append(r.Streams, s)
		t.Cleanup(func() {
			if err := errors.Join(s.Close(), c.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	return r
}

// TestOnGPUs sums over the GPUs of this machine.
func TestOnGPUs(t *testing.T) {
	r := realRig(t)
	g, err := Open(r.Contexts(), wheelFolders()...)
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1000, 1 << 20} { // sums of integers do not depend on the order
		peerstest.Sum[int64](r, g, tensor.Int64, n)
	}
	if err := errors.Join(g.Check(), g.Close()); err != nil {
		t.Error(err)
	}
}

// TestNetworkOnGPUs sums over the GPUs of this machine like workers with one GPU each.
func TestNetworkOnGPUs(t *testing.T) {
	r := realRig(t)
	n := Network{Folders: wheelFolders()}
	version, err := n.Version(r.Contexts()[0])
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d GPUs", version, len(r.Devices))
	groups := peerstest.Join(r, n)
	for _, count := range []int{1, 1000, 1 << 20} {
		peerstest.Sum[int64](r, groups, tensor.Int64, count)
	}
	if err := groups.Close(); err != nil {
		t.Error(err)
	}
}
