package peerstest

import (
	"errors"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// Rig is emulated GPUs with a stream each.
type Rig struct {
	T       *testing.T
	Driver  *fake.Driver
	Devices []peers.Device
	Streams []driver.Stream
}

// Each calls a test with that many GPUs.
func Each(t *testing.T, gpus int, test func(r *Rig)) { test(newRig(t, gpus)) }

// newRig makes a Rig with that many GPUs.
func newRig(t *testing.T, gpus int) *Rig {
	t.Helper()
	infos := make([]driver.Info, gpus)
	for i := range infos {
		infos[i] = fake.Default
	}
	r := &Rig{T: t, Driver: fake.New(infos...)}
	m, err := emulate.NewMachine(r.Driver, emulate.Default())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	}
	r.must(err)
	var modules []kernels.Module
	for _, one := range kernels.Modules() {
		if one.Name == "peers" {
			modules = append(modules, one)
		}
	}
	t.Cleanup(r.close)
	for i := range gpus {
		c, err := r.Driver.Open(i)
		r.must(err)
		lib, err := kernels.Load(t.Context(), kernels.Target{Context: c, Compiler: m, Arch: 90}, modules...)
		if errors.Is(err, dylib.ErrNoLoader) {
			t.Skipf("skipped: %v", errors.Join(err, c.Close()))
		}
		r.must(err)
		s, err := c.NewStream()
		r.must(err)
		r.Devices, r.Streams = append(r.Devices, peers.Device{Context: c, Kernels: lib}), append(r.Streams, s)
	}
	return r
}

func (r *Rig) close() {
	for i, d := range r.Devices {
		if err := errors.Join(r.Streams[i].Close(), d.Kernels.Close(), d.Context.Close()); err != nil {
			r.T.Error(err)
		}
	}
	if err := r.Driver.Leaks(); err != nil {
		r.T.Error(err)
	}
}

func (r *Rig) must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// Contexts returns the contexts of the devices.
func (r *Rig) Contexts() []driver.Context {
	var all []driver.Context
	for _, d := range r.Devices {
		all = append(all, d.Context)
	}
	return all
}

// bytesOf returns the bytes of numbers.
func bytesOf[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// pinned returns page-locked memory until the end of the test.
func (r *Rig) pinned(gpu, n int) []byte {
	r.T.Helper()
	p, err := r.Devices[gpu].Context.AllocHost(max(n, 1))
	r.must(err)
	r.T.Cleanup(func() { r.must(p.Free()) })
	return p.Bytes()[:n]
}

// Put issues an upload to new memory of a GPU.
func (r *Rig) Put(gpu int, b []byte) driver.Ptr {
	r.T.Helper()
	p, err := r.Devices[gpu].Context.Alloc(max(len(b), 1))
	r.must(err)
	r.T.Cleanup(func() { r.must(r.Devices[gpu].Context.Free(p)) })
	host := r.pinned(gpu, len(b))
	copy(host, b)
	r.must(r.Streams[gpu].Upload(p, host))
	return p
}

// get issues a download.
func (r *Rig) get(gpu int, p driver.Ptr, n int) []byte {
	r.T.Helper()
	host := r.pinned(gpu, n)
	r.must(r.Streams[gpu].Download(host, p))
	return host
}
