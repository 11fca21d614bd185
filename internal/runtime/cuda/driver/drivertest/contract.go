package drivertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Run tests that a driver with at least one GPU keeps the contract. A fake driver must have Kernel registered.
func Run(t *testing.T, d driver.Driver) {
	for name, f := range map[string]func(t *testing.T, r *rig){
		"devices": devices, "memory": memory, "copies": copies, "launch": launch, "events": events,
		"graph": graphs, "misuse": misuse, "many streams": manyStreams,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := d.Open(0)
			if err != nil {
				t.Fatal(err)
			}
			r := &rig{t: t, d: d, c: c}
			t.Cleanup(r.close)
			f(t, r)
		})
	}
}

// rig is a context and the objects to close.
type rig struct {
	t    *testing.T
	d    driver.Driver
	c    driver.Context
	give []func() error
}

func (r *rig) close() {
	for i := len(r.give) - 1; i >= 0; i-- {
		r.ok(r.give[i]())
	}
	r.ok(r.c.Close())
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Error(err)
	}
}

func must[T any](r *rig) func(v T, err error) T {
	return func(v T, err error) T {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		return v
	}
}

func (r *rig) alloc(n int) driver.Ptr {
	r.t.Helper()
	p := must[driver.Ptr](r)(r.c.Alloc(n))
	r.give = append(r.give, func() error { return r.c.Free(p) })
	return p
}

func (r *rig) pinned(n int) []byte {
	r.t.Helper()
	p := must[driver.Pinned](r)(r.c.AllocHost(n))
	r.give = append(r.give, p.Free)
	return p.Bytes()
}

func (r *rig) stream() driver.Stream {
	r.t.Helper()
	s := must[driver.Stream](r)(r.c.NewStream())
	r.give = append(r.give, s.Close)
	return s
}

func (r *rig) event() driver.Event {
	r.t.Helper()
	e := must[driver.Event](r)(r.c.NewEvent(true))
	r.give = append(r.give, e.Close)
	return e
}

func (r *rig) function() driver.Function {
	r.t.Helper()
	m := must[driver.Module](r)(r.c.Load([]byte(PTX)))
	r.give = append(r.give, m.Close)
	return must[driver.Function](r)(m.Function(Kernel))
}

// add is a launch of Kernel over n elements.
func add(p driver.Ptr, v, n int) driver.Launch {
	return driver.Launch{Grid: driver.Dim{X: (n + 127) / 128}, Block: driver.Dim{X: 128},
		Args: []driver.Arg{driver.Address(p), driver.Int32(int32(v)), driver.Int32(int32(n))}}
}

func devices(t *testing.T, r *rig) {
	all, err := r.d.Devices()
	if err != nil || len(all) == 0 {
		t.Fatalf("expected devices, got %v, %v", all, err)
	}
	if i := all[0]; i.Name == "" || i.Major < 3 || i.Memory <= 0 || i.Multiprocessors <= 0 || i.SharedPerBlock < 48<<10 {
		t.Errorf("got %+v", i)
	}
	if v, err := r.d.Version(); err != nil || v < 11000 {
		t.Errorf("version: got %d, %v", v, err)
	}
	for _, bad := range []int{-1, len(all)} {
		if _, err := r.d.Open(bad); !errors.Is(err, driver.ErrNoDevice) {
			t.Errorf("GPU %d: expected %v, got %v", bad, driver.ErrNoDevice, err)
		}
	}
}

func memory(t *testing.T, r *rig) {
	free, total, err := r.c.Info()
	if err != nil || free <= 0 || free > total {
		t.Fatalf("got %d of %d, %v", free, total, err)
	}
	const n = 64 << 20
	p := r.alloc(n)
	if p%256 != 0 {
		t.Errorf("address %#x: expected a multiple of 256", p)
	}
	if now, _, err := r.c.Info(); err != nil || now > free-n {
		t.Errorf("after %d bytes: expected less than %d free, got %d, %v", n, free-n, now, err)
	}
	if _, err := r.c.Alloc(0); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no bytes: expected %v, got %v", driver.ErrInvalid, err)
	}
	if _, err := r.c.Alloc(1 << 50); err == nil {
		t.Error("2^50 bytes: expected an error")
	}
	if err := r.c.Free(p + 1); err == nil {
		t.Error("free of an address in the middle: expected an error")
	}
}

func copies(t *testing.T, r *rig) {
	const n = 1000
	s, a, b, src, dst := r.stream(), r.alloc(n), r.alloc(n), r.pinned(n), r.pinned(n)
	for i := range src {
		src[i] = byte(i * 7)
	}
	r.ok(s.Upload(a, src))
	r.ok(s.Copy(b, a, n))
	r.ok(s.Fill(b+10, 0xEE, 5))
	r.ok(s.Download(dst[1:], b+1))
	r.ok(s.Synchronize())
	want := bytes.Clone(src)
	copy(want[10:15], bytes.Repeat([]byte{0xEE}, 5))
	if !bytes.Equal(dst[1:], want[1:]) {
		t.Error("the bytes differ")
	}
	for _, err := range []error{s.Upload(a, nil), s.Download(nil, a), s.Copy(a, b, 0), s.Fill(a, 0, 0)} {
		if err != nil {
			t.Errorf("no bytes: %v", err)
		}
	}
}

func launch(t *testing.T, r *rig) {
	const n = 300
	s, f, p, host := r.stream(), r.function(), r.alloc(4*n), r.pinned(4*n)
	r.ok(s.Fill(p, 0, 4*n))
	for v := range 5 {
		r.ok(s.Launch(f, add(p, v, n)))
	}
	r.ok(s.Download(host, p))
	r.ok(s.Synchronize())
	expectAll(t, host, 10)
	r.ok(f.AllowShared(64 << 10))
	l := add(p, 1, n)
	l.Shared = 64 << 10
	r.ok(s.Launch(f, l))
	r.ok(s.Synchronize())
	if err := f.AllowShared(1 << 30); err == nil {
		t.Error("1 GiB of shared memory: expected an error")
	}
}

func expectAll(t *testing.T, host []byte, want int32) {
	t.Helper()
	for i := 0; i < len(host); i += 4 {
		if got := int32(binary.LittleEndian.Uint32(host[i:])); got != want {
			t.Fatalf("element %d: expected %d, got %d", i/4, want, got)
		}
	}
}

func events(t *testing.T, r *rig) {
	const n = 256
	a, b, f, p, host := r.stream(), r.stream(), r.function(), r.alloc(4*n), r.pinned(4*n)
	first, second := r.event(), r.event()
	r.ok(first.Synchronize())
	r.ok(b.Wait(second)) // nothing was recorded
	r.ok(a.Record(first))
	r.ok(a.Fill(p, 0, 4*n))
	for range 100 {
		r.ok(a.Launch(f, add(p, 1, n)))
	}
	r.ok(a.Record(second))
	r.ok(b.Wait(second))
	r.ok(b.Launch(f, add(p, 1, n)))
	r.ok(b.Download(host, p))
	r.ok(second.Synchronize())
	r.ok(b.Synchronize())
	expectAll(t, host, 101)
	if d, err := second.Since(first); err != nil || d < 0 {
		t.Errorf("got %v, %v", d, err)
	}
	plain := must[driver.Event](r)(r.c.NewEvent(false))
	r.give = append(r.give, plain.Close)
	if _, err := second.Since(plain); err == nil {
		t.Error("time since an event without timing: expected an error")
	}
}

func graphs(t *testing.T, r *rig) {
	const n = 100
	s, other, f, p, in, out := r.stream(), r.stream(), r.function(), r.alloc(4*n), r.pinned(4*n), r.pinned(4*n)
	clear(in)
	clear(out)
	e := r.event()
	g := must[driver.Graph](r)(s.Capture(func() error {
		if err := s.Record(e); !errors.Is(err, driver.ErrCapture) {
			t.Errorf("record in a capture: expected %v, got %v", driver.ErrCapture, err)
		}
		return errors.Join(s.Upload(p, in), s.Launch(f, add(p, 1, n)), s.Launch(f, add(p, 2, n)), s.Download(out, p))
	}))
	r.give = append(r.give, g.Close)
	r.ok(s.Synchronize())
	expectAll(t, out, 0)
	for v := range 3 { // the graph copies the contents of pinned memory at launch
		binary.LittleEndian.PutUint32(in, uint32(v))
		r.ok(g.Launch(other))
		r.ok(other.Synchronize())
		if got := binary.LittleEndian.Uint32(out); got != uint32(v+3) {
			t.Errorf("launch %d: expected %d, got %d", v, v+3, got)
		}
	}
	boom := errors.New("boom")
	if _, err := s.Capture(func() error { return boom }); !errors.Is(err, boom) {
		t.Errorf("capture that fails: expected %v, got %v", boom, err)
	}
	r.ok(s.Launch(f, add(p, 1, n))) // the stream is still usable
	r.ok(s.Synchronize())
}

func misuse(t *testing.T, r *rig) {
	s, p, f := r.stream(), r.alloc(16), r.function()
	m := must[driver.Module](r)(r.c.Load([]byte(PTX)))
	r.give = append(r.give, m.Close)
	_, noFunction := m.Function("no_such")
	_, noModule := r.c.Load([]byte("not a module"))
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"upload of ordinary memory", s.Upload(p, make([]byte, 4)), driver.ErrPinned},
		{"download to ordinary memory", s.Download(make([]byte, 4), p), driver.ErrPinned},
		{"no such function", noFunction, driver.ErrNotFound},
		{"broken module", noModule, nil},
		{"block too large", s.Launch(f, driver.Launch{Block: driver.Dim{X: 2048}}), nil},
		{"copy to nowhere", s.Copy(0, p, 4), driver.ErrInvalid},
	} {
		if c.err == nil || c.want != nil && !errors.Is(c.err, c.want) {
			t.Errorf("%s: expected %v, got %v", c.name, c.want, c.err)
		}
	}
	r.ok(s.Fill(p, 1, 16))
	r.ok(s.Synchronize())
}

func manyStreams(t *testing.T, r *rig) {
	const streams, n = 8, 64
	p, f, host := r.alloc(streams*4*n), r.function(), r.pinned(streams*4*n)
	errs := make(chan error)
	for i := range streams {
		s, at := r.stream(), p+driver.Ptr(i*4*n)
		go func() {
			err := s.Fill(at, 0, 4*n)
			for range 20 {
				err = errors.Join(err, s.Launch(f, add(at, 1, n)))
			}
			errs <- errors.Join(err, s.Download(host[i*4*n:][:4*n], at), s.Synchronize())
		}()
	}
	for range streams {
		r.ok(<-errs)
	}
	expectAll(t, host, 20)
}
