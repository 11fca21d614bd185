package ps

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// failing is a device that cannot be read while fault is set.
type failing struct {
	device.Device
	fault error
}

func (d *failing) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	return &failingStream{s, d}, err
}

type failingStream struct {
	device.Stream
	d *failing
}

func (s *failingStream) Download(dst []byte, src device.Buffer, offset int) error {
	if s.d.fault != nil {
		return s.d.fault
	}
	return s.Stream.Download(dst, src, offset)
}

// TestFenceOfADeviceThatFails: data that cannot be copied for a fence is an error, and the previous fence
// stays.
func TestFenceOfADeviceThatFails(t *testing.T) {
	j := newJob(t, "adam", nil)
	d := &failing{Device: device.NewHost()}
	u, err := newUnit(j.plan(t, Config{Servers: 1}), 0, d, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.freeze(1); err != nil {
		t.Fatal(err)
	}
	d.fault = errors.New("the device is gone")
	if err := u.freeze(2); !errors.Is(err, d.fault) {
		t.Errorf("got %v, expected %v", err, d.fault)
	}
	scalar := len(u.field) - 1
	dst := make([]byte, u.field[scalar].bytes)
	if err := u.readFrozen(2, scalar, 0, dst); err == nil {
		t.Error("there is a fence that was not made")
	}
	if err := u.readFrozen(1, scalar, 0, dst); err != nil {
		t.Errorf("the fence before it: %v", err)
	}
}
