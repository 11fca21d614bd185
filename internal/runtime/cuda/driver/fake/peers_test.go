package fake

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
)

func TestPeers(t *testing.T) {
	d := newDriver()
	d.gpus = append(d.gpus, Default)
	t.Cleanup(func() {
		if err := d.Leaks(); err != nil {
			t.Error(err)
		}
	})
	drivertest.RunPeers(t, d)
}

func TestPeersOfAnotherDriver(t *testing.T) {
	a, err1 := New(Default).Open(0)
	b, err2 := New(Default).Open(0)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, err := a.(driver.PeerContext).Reach(b); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("expected %v, got %v", driver.ErrInvalid, err)
	}
}
