package libcuda

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

func TestNativeHandles(t *testing.T) {
	d, err := start(stub(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if h := s.(driver.NativeStream).Handle(); h == 0 {
		t.Error("a stream without a handle")
	}
	odd := errors.New("odd")
	if err := c.(driver.NativeContext).Current(func() error { return odd }); err != odd {
		t.Errorf("expected f's error, got %v", err)
	}
	if err := errors.Join(s.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}
