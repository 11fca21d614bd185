package driver

import (
	"errors"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

func TestLaunchCheck(t *testing.T) {
	for name, c := range map[string]struct {
		l  Launch
		ok bool
	}{
		"defaults":         {Launch{}, true},
		"full block":       {Launch{Block: Dim{X: 1024}}, true},
		"too many threads": {Launch{Block: Dim{X: 512, Y: 4}}, false},
		"deep block":       {Launch{Block: Dim{Z: 65}}, false},
		"wide grid":        {Launch{Grid: Dim{X: MaxGridX}}, true},
		"tall grid":        {Launch{Grid: Dim{Y: MaxGridYZ + 1}}, false},
		"negative":         {Launch{Grid: Dim{X: -1}}, false},
		"many arguments":   {Launch{Args: make([]Arg, MaxArgs+1)}, false},
	} {
		if err := c.l.Check(); (err == nil) != c.ok {
			t.Errorf("%s: expected ok %v, got %v", name, c.ok, err)
		}
	}
}

func TestArgsAreInTheLowBytes(t *testing.T) {
	if a := Int32(-1); a != math.MaxUint32 {
		t.Errorf("int32: got %#x", a)
	}
	if a := Float32(1); a != 0x3f800000 {
		t.Errorf("float32: got %#x", a)
	}
	if a := Int64(-1); a != math.MaxUint64 {
		t.Errorf("int64: got %#x", a)
	}
}

func TestErrorIs(t *testing.T) {
	for _, c := range []struct {
		code   Code
		target error
		sticky bool
	}{
		{CodeOutOfMemory, device.ErrMemory, false},
		{CodeNoDevice, ErrNoDevice, false},
		{CodeInvalidValue, ErrInvalid, false},
		{CodeNotFound, ErrNotFound, false},
		{CodeCaptureUnsafe, ErrCapture, false},
		{CodeIllegalAddress, nil, true},
		{CodeLaunchResources, nil, false},
		{704, nil, false}, // peer access is enabled already
		{712, nil, false}, // host memory is registered already
		{717, nil, true},
		{720, nil, false}, // a grid that is too large to run together
	} {
		e := &Error{Call: "call", Code: c.code}
		if c.target != nil && !errors.Is(e, c.target) {
			t.Errorf("code %d: expected %v", c.code, c.target)
		}
		if e.Sticky() != c.sticky {
			t.Errorf("code %d: expected sticky %v", c.code, c.sticky)
		}
	}
}
