package cublaslt

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// stubMemory is memory of testdata/stub.c.
type stubMemory struct{ give, put, get dylib.Proc }

func (m *stubMemory) alloc(bytes int) driver.Ptr { return driver.Ptr(m.give.Call(uintptr(bytes))) }

func (m *stubMemory) load(at uintptr, i int, t uintptr) float64 {
	v := new(float64)
	m.get.Call(at, uintptr(i), t, uintptr(unsafe.Pointer(v)))
	return *v
}

func (m *stubMemory) store(at uintptr, i int, t uintptr, v float64) {
	m.put.Call(at, uintptr(i), t, uintptr(math.Float64bits(v)))
}

// realContext is a context with what Open needs.
type realContext struct{ driver.Context }

func (realContext) Current(f func() error) error { return f() }

// TestProductsThroughC calls a library that was compiled against NVIDIA's header.
func TestProductsThroughC(t *testing.T) {
	dir := t.TempDir()
	compileC(t, filepath.Join(dir, "libcublasLt.so.12"), "-shared", "-fPIC", "-O1", "testdata/stub.c")
	lib, err := dylib.Open(dylib.CuBLASLt, dir)
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &stubMemory{}
	if err := lib.Bind(map[string]*dylib.Proc{"stub_alloc": &m.give, "stub_store": &m.put, "stub_load": &m.get}); err != nil {
		t.Fatal(err)
	}
	own := &noProducts{}
	p, err := Open(realContext{}, own, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples(m) {
		if w := p.Workspace(e.Product); w != 512 {
			t.Fatalf("workspace: expected 512, got %d", w)
		}
		e.Workspace, e.WorkspaceBytes = m.alloc(512), 512
		l, err := p.Plan(e.Product)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Issue(nativeStream{}); err != nil {
			t.Fatal(err)
		}
		e.check(t, m)
	}
	if err := p.Close(); err != nil || len(own.asked) != 0 {
		t.Errorf("%v; %d products by own kernels: %v", err, len(own.asked), p.Refused())
	}
}
