package cuda

import (
	"bytes"
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"go.uber.org/goleak"
)

// rig is an emulated GPU.
type rig struct {
	t *testing.T
	f *fake.Driver
	d *Device
}

func newRig(t *testing.T) *rig {
	t.Helper()
	f := fake.New(fake.Default)
	machine, err := emulate.NewMachine(f, emulate.Default())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	}
	r := &rig{t, f, nil}
	r.ok(err)
	c, err := f.Open(0)
	r.ok(err)
	r.d, err = New(t.Context(), c, Parts{Name: "the emulated GPU", Compiler: machine, Arch: 90})
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	r.ok(err)
	t.Cleanup(func() { r.ok(r.d.Close()) })
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) alloc(n int) device.Buffer {
	r.t.Helper()
	b, err := r.d.Alloc(n)
	r.ok(err)
	return b
}

func (r *rig) stream() *Stream {
	r.t.Helper()
	s, err := r.d.NewStream()
	r.ok(err)
	return s.(*Stream)
}

func TestRoundTrip(t *testing.T) {
	r := newRig(t)
	b, s := r.alloc(100), r.stream()
	zero, src, dst := bytes.Repeat([]byte{9}, 100), bytes.Repeat([]byte{7}, 10), make([]byte, 10)
	r.ok(s.Download(zero, b, 0))
	r.ok(s.Upload(b, 90, src))
	clear(src) // it was copied
	other := r.alloc(50)
	r.ok(s.Copy(other, 3, b, 90, 10))
	r.ok(s.Download(dst, other, 3))
	e, err := s.Record()
	r.ok(err)
	r.ok(e.Wait())
	if !bytes.Equal(dst, bytes.Repeat([]byte{7}, 10)) || !bytes.Equal(zero, make([]byte, 100)) {
		t.Errorf("got %v; new memory: %v", dst, zero)
	}
	if b.(*buffer).Address()%256 != 0 || r.d.Used() != 150 {
		t.Errorf("address %#x, %d bytes in use", b.(*buffer).Address(), r.d.Used())
	}
	r.ok(s.Synchronize())
	r.ok(e.Wait())
	r.ok(errors.Join(b.Free(), other.Free(), s.Close(), r.d.Close(), r.f.Leaks()))
}

func TestMisuse(t *testing.T) {
	r, far := newRig(t), newRig(t)
	b, s := r.alloc(8), r.stream()
	freed := r.alloc(8)
	r.ok(freed.Free())
	foreign, err := far.stream().Record()
	far.ok(err)
	for name, c := range map[string]struct{ err, want error }{
		"upload beyond":    {s.Upload(b, 4, make([]byte, 5)), device.ErrRange},
		"download before":  {s.Download(make([]byte, 1), b, -1), device.ErrRange},
		"copy beyond":      {s.Copy(b, 0, b, 4, 5), device.ErrRange},
		"foreign buffer":   {s.Upload(far.alloc(8), 0, make([]byte, 1)), device.ErrBuffer},
		"freed buffer":     {s.Upload(freed, 0, make([]byte, 1)), device.ErrBuffer},
		"freed twice":      {freed.Free(), device.ErrBuffer},
		"foreign kernel":   {s.Launch("not a kernel"), device.ErrKernel},
		"foreign event":    {s.After(foreign), device.ErrEvent},
		"too much memory":  {second(r.d.Alloc(1 << 46)), device.ErrMemory},
		"all of it":        {second(r.d.Alloc(math.MaxInt)), device.ErrMemory},
		"too much, pinned": {second(r.d.AllocHost(-1)), nil},
		"negative size":    {second(r.d.Alloc(-1)), nil},
	} {
		if c.err == nil || c.want != nil && !errors.Is(c.err, c.want) {
			t.Errorf("%s: expected %v, got %v", name, c.want, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestStaging sends more data than fits the staging memory, in both directions at once.
func TestStaging(t *testing.T) {
	r := newRig(t)
	const n = stagingBytes*(stagingBlocks+3) + 77
	b, s := r.alloc(n), r.stream()
	src, dst := make([]byte, n), make([]byte, n)
	for i := range src {
		src[i] = byte(i * 31 >> 3)
	}
	small := make([][]byte, 100)
	for range 2 {
		clear(dst)
		r.ok(s.Upload(b, 0, src))
		for i := range small {
			small[i] = make([]byte, 3)
			r.ok(s.Download(small[i], b, i*1000))
		}
		r.ok(s.Download(dst, b, 0))
		r.ok(s.Synchronize())
		if !bytes.Equal(src, dst) {
			t.Fatal("the bytes differ")
		}
		for i, v := range small {
			if !bytes.Equal(v, src[i*1000:i*1000+3]) {
				t.Fatalf("download %d: got %v", i, v)
			}
		}
	}
	if len(s.ring.blocks) > stagingBlocks {
		t.Errorf("%d blocks of staging memory", len(s.ring.blocks))
	}
}

// TestPinned checks that page-locked memory needs no staging.
func TestPinned(t *testing.T) {
	r := newRig(t)
	h, err := r.d.AllocHost(1000)
	r.ok(err)
	b, s := r.alloc(1000), r.stream()
	copy(h.Bytes()[500:], "pinned")
	r.ok(s.Upload(b, 0, h.Bytes()[500:506]))
	r.ok(s.Download(h.Bytes()[:6], b, 0))
	r.ok(s.Synchronize())
	if string(h.Bytes()[:6]) != "pinned" || len(s.ring.blocks) != 0 {
		t.Errorf("got %q, %d blocks of staging memory", h.Bytes()[:6], len(s.ring.blocks))
	}
	r.ok(h.Free())
	if h.Free() == nil || r.d.hosts.hold(h.Bytes()) && len(h.Bytes()) > 0 {
		t.Error("freed memory is still known")
	}
}

// TestEvents makes one stream wait for another, and goroutines for events. Events that nobody waits for cost nothing.
func TestEvents(t *testing.T) {
	r := newRig(t)
	b, from, to := r.alloc(8), r.stream(), r.stream()
	dst := make([]byte, 8)
	for i := range 3 * maxEvents {
		r.ok(from.Upload(b, 0, []byte{byte(i), 1, 2, 3, 4, 5, 6, 7}))
		e, err := from.Record()
		r.ok(err)
		r.ok(to.After(e))
		if i%10 > 0 {
			continue
		}
		r.ok(to.Download(dst, b, 0))
		down, err := to.Record()
		r.ok(err)
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- errors.Join(down.Wait(), e.Wait()) }()
		}
		r.ok(errors.Join(<-waited, <-waited))
		if dst[0] != byte(i) {
			t.Fatalf("step %d: got %v", i, dst)
		}
	}
	if n := len(from.events) + len(from.spare); n > maxEvents+1 {
		t.Errorf("%d events of the driver", n)
	}
	r.ok(errors.Join(from.Close(), to.Close(), b.Free(), r.d.Close(), r.f.Leaks()))
}

// TestLost checks that after a sticky error the device is unusable, and that all calls return ErrLost.
func TestLost(t *testing.T) {
	r := newRig(t)
	b, s := r.alloc(8), r.stream()
	r.f.Inject("Synchronize", 0, &driver.Error{Call: "cuStreamSynchronize", Code: driver.CodeIllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"})
	r.ok(s.Upload(b, 0, []byte{1}))
	first := s.Synchronize()
	for name, err := range map[string]error{"first": first, "again": s.Synchronize(), "upload": s.Upload(b, 0, []byte{1}), "alloc": second(r.d.Alloc(1)),
		"stream": second(r.d.NewStream()), "host memory": second(r.d.AllocHost(1)), "record": second(s.Record())} {
		var lost *LostError
		if !errors.Is(err, device.ErrLost) || !errors.As(err, &lost) || !strings.Contains(err.Error(), "ILLEGAL_ADDRESS") {
			t.Errorf("%s: expected the lost GPU, got %v", name, err)
		}
	}
	r.ok(errors.Join(b.Free(), r.d.Close()))
}

// TestFailures makes driver calls fail with errors that leave the device usable.
func TestFailures(t *testing.T) {
	r := newRig(t)
	boom := errors.New("boom")
	for _, call := range []string{"Alloc", "Fill"} {
		r.f.Inject(call, 0, boom)
		if err := second(r.d.Alloc(8)); !errors.Is(err, boom) {
			t.Errorf("%s: got %v", call, err)
		}
	}
	b, s := r.alloc(8), r.stream()
	for _, call := range []string{"AllocHost", "NewEvent", "Upload"} {
		r.f.Inject(call, 0, boom)
		if err := s.Upload(b, 0, make([]byte, 8)); !errors.Is(err, boom) {
			t.Errorf("%s: got %v", call, err)
		}
	}
	r.ok(errors.Join(s.Upload(b, 0, make([]byte, 8)), s.Synchronize(), r.d.Close(), r.f.Leaks()))
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
