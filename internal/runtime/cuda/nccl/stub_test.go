package nccl

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/tensor"
)

// nativeContext is a context with what NCCL needs.
type nativeContext struct{ driver.Context }

func (nativeContext) Current(f func() error) error { return f() }

// nativeStream is a stream with a handle.
type nativeStream struct {
	driver.Stream
	handle uintptr
}

func (s nativeStream) Handle() uintptr { return s.handle }

// stub returns a library compiled against NVIDIA's header, and a function that returns the number of its ranks.
func stub(t *testing.T) (*native, func() int) {
	t.Helper()
	dir := t.TempDir()
	compileC(t, filepath.Join(dir, "libnccl.so.2"), "-shared", "-fPIC", "-pthread", "testdata/stub.c")
	n, err := bind(dir)
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	lib, err := dylib.Open(dylib.NCCL, dir)
	if err != nil {
		t.Fatal(err)
	}
	var live dylib.Proc
	if err := lib.Bind(map[string]*dylib.Proc{"stub_live": &live}); err != nil {
		t.Fatal(err)
	}
	return n, func() int { return int(live.Call()) }
}

// TestGroupThroughC sums in memory of the host with a C library.
func TestGroupThroughC(t *testing.T) {
	n, live := stub(t)
	id, err := n.newID()
	if err != nil {
		t.Fatal(err)
	}
	contexts := []driver.Context{nativeContext{}, nativeContext{}, nativeContext{}}
	g, err := join(t.Context(), n, contexts, place{id: id, total: 3})
	if err != nil {
		t.Fatal(err)
	}
	values := [][]float64{{1, 2, 3}, {10, 20, 30}, {100, 200, 300}}
	var parts []peers.Part
	for i := range values {
		at := driver.Ptr(uintptr(unsafe.Pointer(&values[i][0])))
		parts = append(parts, peers.Part{Stream: nativeStream{handle: uintptr(i + 1)}, Address: at, Count: 3, Type: tensor.Float64})
	}
	if err := g.AllReduce(parts); err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if v[0] != 111 || v[1] != 222 || v[2] != 333 {
			t.Errorf("rank %d: expected [111 222 333], got %v", i, v)
		}
	}
	parts[0].Stream = nativeStream{handle: 99}
	var said *Error
	if err := g.AllReduce(parts); !errors.As(err, &said) || said.Result != ResultArgument || said.Text != "invalid argument: said by the stub" {
		t.Errorf("a wrong stream: expected the library's error, got %v", err)
	}
	if err := g.AllReduce(parts); !errors.Is(err, peers.ErrBroken) {
		t.Errorf("after that: expected %v, got %v", peers.ErrBroken, err)
	}
	if err := errors.Join(g.Check(), g.Close()); err != nil || live() != 0 {
		t.Errorf("close: %v, %d ranks left", err, live())
	}
}

// TestJoinThroughC makes ranks of a group with ranks elsewhere: calls return before they are done.
func TestJoinThroughC(t *testing.T) {
	n, live := stub(t)
	id, err := n.newID()
	if err != nil {
		t.Fatal(err)
	}
	contexts := []driver.Context{nativeContext{}, nativeContext{}}
	g, err := join(t.Context(), n, contexts, place{id: id, first: 1, total: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil || live() != 0 {
		t.Errorf("close: %v, %d ranks left", err, live())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := join(ended, n, contexts, place{id: id, first: 1, total: 4}); !errors.Is(err, context.Canceled) || live() != 0 {
		t.Errorf("expected %v and no ranks, got %v, %d", context.Canceled, err, live())
	}
	var said *Error
	if _, err := join(t.Context(), n, contexts, place{id: ID{1}, total: 2}); !errors.As(err, &said) || said.Result != ResultArgument || live() != 0 {
		t.Errorf("another ID: expected an error, got %v, %d ranks left", err, live())
	}
	if _, err := join(t.Context(), n, contexts, place{id: id, first: 3, total: 4}); err == nil {
		t.Error("ranks 3 and 4 of 4: expected an error")
	}
}
