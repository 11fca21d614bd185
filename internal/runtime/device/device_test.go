package device

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

// negate flips every bit of a buffer.
type negate struct{ mem []byte }

func (k negate) Run() error {
	for i := range k.mem {
		k.mem[i] = ^k.mem[i]
	}
	return nil
}

type failing struct{ err error }

func (f failing) Run() error { return f.err }

func each(t *testing.T, f func(t *testing.T, d Device)) {
	for _, d := range []Device{NewHost(), NewFake()} {
		t.Run(d.Kind(), func(t *testing.T) {
			f(t, d)
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, d Device) {
		b, s := must(d.Alloc(100)), must(d.NewStream())
		if b.Len() != 100 {
			t.Fatalf("length: expected 100, got %d", b.Len())
		}
		mem := b.(Mapped).Map()
		if p := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); p%Alignment != 0 {
			t.Errorf("buffer at %#x: expected a multiple of %d", p, Alignment)
		}
		src, dst := bytes.Repeat([]byte{0x0f}, 10), make([]byte, 10)
		err := errors.Join(s.Upload(b, 90, src), s.Launch(negate{mem}), s.Download(dst, b, 90))
		e := must(s.Record())
		if err = errors.Join(err, e.Wait(), s.Synchronize()); err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{0xf0}, 10); !bytes.Equal(dst, want) {
			t.Errorf("expected %x, got %x", want, dst)
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	})
}

// TestAfter checks that a stream waits for another one.
func TestAfter(t *testing.T) {
	each(t, func(t *testing.T, d Device) {
		a, b := must(d.Alloc(4)), must(d.Alloc(4))
		up, down := must(d.NewStream()), must(d.NewStream())
		src, dst := []byte{1, 2, 3, 4}, make([]byte, 2)
		err := up.Upload(a, 0, src)
		err = errors.Join(err, down.After(must(up.Record())), down.Copy(b, 1, a, 2, 2), down.Download(dst, b, 1), down.Synchronize())
		if err != nil || !bytes.Equal(dst, src[2:]) {
			t.Errorf("expected %v, got %v, %v", src[2:], dst, err)
		}
		if err := up.Synchronize(); err != nil {
			t.Error(err)
		}
	})
}

func TestErrors(t *testing.T) {
	each(t, func(t *testing.T, d Device) {
		b, s := must(d.Alloc(8)), must(d.NewStream())
		foreign := must(NewFake().Alloc(8))
		for _, c := range []struct {
			name string
			err  error
			want error
		}{
			{"upload beyond", s.Upload(b, 4, make([]byte, 5)), ErrRange},
			{"download before", s.Download(make([]byte, 1), b, -1), ErrRange},
			{"foreign buffer", s.Upload(foreign, 0, make([]byte, 1)), ErrBuffer},
			{"copy beyond", s.Copy(b, 0, b, 4, 5), ErrRange},
			{"foreign copy", s.Copy(b, 0, foreign, 0, 1), ErrBuffer},
			{"foreign event", s.After(nil), ErrEvent},
			{"foreign kernel", s.Launch("not a kernel"), ErrKernel},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: expected %v, got %v", c.name, c.want, c.err)
			}
		}
		if _, err := d.Alloc(-1); err == nil {
			t.Error("negative size: expected an error")
		}
		for _, n := range []int{1 << 46, math.MaxInt} {
			if _, err := d.Alloc(n); err == nil {
				t.Errorf("%d bytes: expected an error", n)
			}
		}
		boom := errors.New("boom")
		if err := s.Launch(failing{boom}); err != nil {
			t.Error(err)
		}
		if err := s.Synchronize(); !errors.Is(err, boom) {
			t.Errorf("error of a kernel: expected it from Synchronize, got %v", err)
		}
		if err := s.Synchronize(); err != nil {
			t.Errorf("second wait: %v", err)
		}
	})
}

// TestFakeDefers checks that nothing happens before the stream is waited for.
func TestFakeDefers(t *testing.T) {
	d := NewFake()
	b, s := must(d.Alloc(1)), must(d.NewStream())
	src, dst := []byte{1}, []byte{9}
	err := errors.Join(s.Upload(b, 0, src), s.Download(dst, b, 0))
	if dst[0] != 9 {
		t.Error("the copy was done early")
	}
	e := must(s.Record())
	src[0] = 2
	late := []byte{9}
	err = errors.Join(err, s.Download(late, b, 0), e.Wait())
	if dst[0] != 2 || late[0] != 9 {
		t.Errorf("after the event: expected 2 and 9, got %d and %d", dst[0], late[0])
	}
	if err = errors.Join(err, s.Synchronize(), d.Close()); err != nil {
		t.Error(err)
	}
}

// TestFakeFaults checks that the host cannot touch the fake device's memory.
func TestFakeFaults(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("skipped: no memory protection on this system")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	mem := must(NewFake().Alloc(1)).(Mapped).Map()
	defer func() {
		if recover() == nil {
			t.Error("expected a fault")
		}
	}()
	mem[0]++
}
