package fake

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// addInt is the Go form of drivertest.Kernel.
func addInt(c *Call) error {
	p, err := c.Memory(0)
	if err != nil {
		return err
	}
	for i := range int(int32(c.Args[2])) {
		binary.LittleEndian.PutUint32(p[4*i:], binary.LittleEndian.Uint32(p[4*i:])+uint32(c.Args[1]))
	}
	return nil
}

func newDriver() *Driver {
	d := New(Default)
	d.Register(drivertest.Kernel, addInt)
	return d
}

func TestContract(t *testing.T) {
	d := newDriver()
	t.Cleanup(func() {
		if err := d.Leaks(); err != nil {
			t.Error(err)
		}
	})
	drivertest.Run(t, d)
}

func TestLeaksNamesAll(t *testing.T) {
	d := newDriver()
	c, _ := d.Open(0)
	_, err1 := c.Alloc(7)
	_, err2 := c.AllocHost(9)
	s, err3 := c.NewStream()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	leaks := d.Leaks()
	if joined, ok := leaks.(interface{ Unwrap() []error }); leaks == nil || !ok || len(joined.Unwrap()) != 1 {
		t.Fatalf("expected one context's leaks, got %v", leaks)
	}
	t.Log(leaks)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestUseAfterFreeLosesTheContext(t *testing.T) {
	d := newDriver()
	c, _ := d.Open(0)
	s, _ := c.NewStream()
	defer s.Close()
	p, _ := c.Alloc(64)
	m, _ := c.Load([]byte(drivertest.PTX))
	f, _ := m.Function(drivertest.Kernel)
	args := []driver.Arg{driver.Address(p), driver.Int32(1), driver.Int32(16)}
	if err := c.Free(p); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(f, driver.Launch{Args: args}); err != nil {
		t.Fatal(err)
	}
	err := s.Synchronize()
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != driver.CodeIllegalAddress || !e.Sticky() {
		t.Fatalf("expected an illegal address, got %v", err)
	}
	if _, err := c.Alloc(1); !errors.As(err, &e) || e.Code != driver.CodeIllegalAddress {
		t.Errorf("afterwards: expected the same error, got %v", err)
	}
}

func TestWritesBeyondTheEndAreFound(t *testing.T) {
	d := newDriver()
	c, _ := d.Open(0)
	p, _ := c.Alloc(8)
	d.Register("wild", func(k *Call) error {
		mem, err := k.Memory(0)
		_ = mem[:8]
		k.touched[0].mem[8] = 1
		return err
	})
	s, _ := c.NewStream()
	defer s.Close()
	m, err := c.Load([]byte(".version 7.0\n.target sm_70\n.visible .entry wild(.param .u64 p)"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("wild")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(f, driver.Launch{Args: []driver.Arg{driver.Address(p)}}); err != nil {
		t.Fatal(err)
	}
	var e *driver.Error
	if err := s.Synchronize(); !errors.As(err, &e) || e.Code != driver.CodeIllegalAddress {
		t.Errorf("expected an illegal address, got %v", err)
	}
}

func TestInjectedErrors(t *testing.T) {
	d := newDriver()
	c, _ := d.Open(0)
	boom := errors.New("boom")
	d.Inject("Alloc", 1, boom)
	_, err1 := c.Alloc(1)
	_, err2 := c.Alloc(1)
	_, err3 := c.Alloc(1)
	if err1 != nil || !errors.Is(err2, boom) || err3 != nil {
		t.Errorf("expected the second to fail alone, got %v, %v, %v", err1, err2, err3)
	}
}

func TestWrongNumberOfArguments(t *testing.T) {
	d := newDriver()
	c, _ := d.Open(0)
	s, _ := c.NewStream()
	defer s.Close()
	m, _ := c.Load([]byte(drivertest.PTX))
	f, _ := m.Function(drivertest.Kernel)
	if err := s.Launch(f, driver.Launch{Args: make([]driver.Arg, 2)}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("expected %v, got %v", driver.ErrInvalid, err)
	}
}
