package cuda

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// lonely is a context that cannot work with other contexts.
type lonely struct{ driver.Context }

// several makes emulated GPUs.
func several(t *testing.T, n int, wrap func(driver.Context) driver.Context) (*fake.Driver, []*Device) {
	t.Helper()
	infos := make([]driver.Info, n)
	for i := range infos {
		infos[i] = fake.Default
	}
	f := fake.New(infos...)
	machine, err := emulate.NewMachine(f, emulate.Default())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	}
	var all []*Device
	for i := range n {
		c, err := f.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(t.Context(), wrap(c), Parts{Name: fmt.Sprintf("emulated GPU %d", i), Compiler: machine, Arch: 90})
		if errors.Is(err, dylib.ErrNoLoader) {
			t.Skipf("skipped: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	t.Cleanup(func() {
		for _, d := range all {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := f.Leaks(); err != nil && all[0].alive() == nil { // nothing of a lost GPU can be freed
			t.Error(err)
		}
	})
	return f, all
}

// TestMean takes means of values of two types over three GPUs, one of them without values, by copies between GPUs and
// through the host.
func TestMean(t *testing.T) {
	for name, wrap := range map[string]func(driver.Context) driver.Context{
		"peers": func(c driver.Context) driver.Context { return c },
		"host":  func(c driver.Context) driver.Context { return lonely{c} },
	} {
		t.Run(name, func(t *testing.T) {
			_, all := several(t, 3, wrap)
			m, err := NewMean(all, []Value{{tensor.Float32, 3}, {tensor.Float64, 1}, {tensor.Float32, 100}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			single, double := tensor.New(tensor.Float32, 100), tensor.New(tensor.Float64, 1)
			for i, d := range all[:2] {
				for j := range tensor.Values[float32](single) {
					tensor.Values[float32](single)[j] = float32(j * (i + 1))
				}
				tensor.Values[float64](double)[0] = float64(i) + 0.5
				b, err := d.Alloc(1024)
				if err != nil {
					t.Fatal(err)
				}
				s, err := d.NewStream()
				if err != nil {
					t.Fatal(err)
				}
				err = errors.Join(s.Upload(b, 0, single.Bytes), s.Upload(b, 512, double.Bytes), s.Synchronize(),
					m.Put(i, 0, engine.Resident{Buffer: b, Offset: 4}, 12), m.Put(i, 1, engine.Resident{Buffer: b, Offset: 512}, 8), m.Put(i, 2, engine.Resident{Buffer: b}, 400))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(m.Clear(2), m.Take(t.Context(), 2)); err != nil {
				t.Fatal(err)
			}
			for i, d := range all {
				s, err := d.NewStream()
				if err != nil {
					t.Fatal(err)
				}
				three := tensor.New(tensor.Float32, 3)
				for v, dst := range map[int]*tensor.Tensor{0: three, 1: double, 2: single} {
					at := m.Place(i, v)
					if err := s.Download(dst.Bytes, at.Buffer, at.Offset); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Synchronize(); err != nil {
					t.Fatal(err)
				}
				if three.Float(0) != 1.5 || three.Float(2) != 4.5 || double.Float(0) != 1 || single.Float(99) != 148.5 {
					t.Errorf("GPU %d: got %v, %v, %v", i, three.Bytes, double.Float(0), single.Float(99))
				}
			}
		})
	}
}

func TestMeanFails(t *testing.T) {
	f, all := several(t, 2, func(c driver.Context) driver.Context { return c })
	if _, err := NewMean(all, []Value{{tensor.Int64, 3}}); err == nil {
		t.Error("integers: expected an error")
	}
	boom := errors.New("boom")
	f.Inject("Alloc", 1, boom)
	if _, err := NewMean(all, []Value{{tensor.Float32, 3}}); !errors.Is(err, boom) {
		t.Errorf("expected %v, got %v", boom, err)
	}
	m, err := NewMean(all, []Value{{tensor.Float32, 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f.Inject("CopyPeer", 0, &driver.Error{Call: "CopyPeer", Code: driver.CodeIllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"})
	if err := m.Take(t.Context(), 2); !errors.Is(err, device.ErrLost) {
		t.Errorf("expected %v, got %v", device.ErrLost, err)
	}
	if err := m.Take(t.Context(), 2); !errors.Is(err, device.ErrLost) {
		t.Errorf("after that: expected %v, got %v", device.ErrLost, err)
	}
}
