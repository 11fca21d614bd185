//go:build linux && (amd64 || arm64) && !static

package cudnn

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(host.WorkerFunction))
}

// rig is the fake GPU with the fake library.
type rig struct {
	t   *testing.T
	lib *fakeLibrary
	c   driver.Context
	s   driver.Stream
	k   *kernels.Library
	*Convolutions
}

// nativeContext and nativeStream make the fake's context and stream look like a real GPU's.
type nativeContext struct {
	driver.Context
	lib *fakeLibrary
}

func (c nativeContext) Current(f func() error) error {
	c.lib.current = true
	defer func() { c.lib.current = false }()
	return f()
}

type nativeStream struct {
	driver.Stream
	handle uintptr
}

func (s nativeStream) Handle() uintptr { return s.handle }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// modules returns the modules that convolutions need.
func modules() []kernels.Module {
	return slices.DeleteFunc(kernels.Modules(), func(m kernels.Module) bool { return m.Name != "conv" })
}

// emulated is the fake driver with the kernels, compiled once.
var emulated = sync.OnceValues(func() (*fake.Driver, error) {
	dir, err := os.MkdirTemp("", "cudnn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // loaded libraries stay usable
	d := fake.New(fake.Default)
	return d, emulate.Build(context.Background(), d, dir, modules()...)
})

// newRig makes a rig whose engines do everything.
func newRig(t *testing.T) *rig {
	t.Helper()
	d, err := emulated()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("skipped: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, c: must(d.Open(0))}
	r.s = must(r.c.NewStream())
	r.k = must(kernels.Load(t.Context(), kernels.Target{Context: r.c, Compiler: emulate.Declared(modules()), Arch: 90}, modules()...))
	r.lib = &fakeLibrary{t: t, objects: map[uintptr]*fakeObject{}, graphs: map[*fakeObject]fakeGraph{}, streams: map[uintptr]driver.Stream{77: r.s},
		offers: func(fakeGraph, int) []fakeEngine { return []fakeEngine{{workspace: 100}} }}
	run := must(r.c.Load([]byte(".version 7.0\n.target sm_90\n.visible .entry fake_cudnn(.param .u64 a,.param .u64 a,.param .u64 a,.param .u64 a,.param .u64 a,.param .u64 a)\n")))
	r.lib.run = must(run.Function("fake_cudnn"))
	d.Register("fake_cudnn", r.lib.compute)
	r.Convolutions = must(open(nativeContext{r.c, r.lib}, r.k, r.lib.procs()))
	t.Cleanup(func() {
		if err := errors.Join(r.Convolutions.Close(), r.s.Close(), run.Close(), r.k.Close()); err != nil {
			t.Error(err)
		}
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		if len(r.lib.wrong) > 0 || len(r.lib.objects) > 0 {
			t.Errorf("the library found wrong: %q; descriptors left: %v", r.lib.wrong, r.lib.objects)
		}
	})
	return r
}

func (r *rig) alloc(bytes int) driver.Ptr {
	p := must(r.c.Alloc(max(bytes, 1)))
	r.t.Cleanup(func() {
		if err := r.c.Free(p); err != nil {
			r.t.Error(err)
		}
	})
	return p
}

// put and get copy numbers in one of the types. For bfloat16, put also rounds x.
func (r *rig) put(x []float32, bfloat16 bool) driver.Ptr {
	each := size(bfloat16)
	p, buf := r.alloc(each*len(x)), must(r.c.AllocHost(max(1, each*len(x))))
	for i, v := range x {
		u := math.Float32bits(v)
		if bfloat16 {
			u = (u + 0x7fff + u>>16&1) >> 16
			x[i] = math.Float32frombits(u << 16)
			unsafe.Slice((*uint16)(unsafe.Pointer(&buf.Bytes()[0])), len(x))[i] = uint16(u)
		} else {
			unsafe.Slice((*uint32)(unsafe.Pointer(&buf.Bytes()[0])), len(x))[i] = u
		}
	}
	if err := errors.Join(r.s.Upload(p, buf.Bytes()[:each*len(x)]), r.s.Synchronize(), buf.Free()); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) get(p driver.Ptr, n int, bfloat16 bool) []float32 {
	each, out := size(bfloat16), make([]float32, n)
	buf := must(r.c.AllocHost(max(1, each*n)))
	if err := errors.Join(r.s.Download(buf.Bytes()[:each*n], p), r.s.Synchronize()); err != nil {
		r.t.Fatal(err)
	}
	for i := range out {
		if bfloat16 {
			out[i] = math.Float32frombits(uint32(unsafe.Slice((*uint16)(unsafe.Pointer(&buf.Bytes()[0])), n)[i]) << 16)
		} else {
			out[i] = unsafe.Slice((*float32)(unsafe.Pointer(&buf.Bytes()[0])), n)[i]
		}
	}
	if err := buf.Free(); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func size(bfloat16 bool) int {
	if bfloat16 {
		return 2
	}
	return 4
}

func numbers(seed uint64, n int) []float32 {
	rng, x := rand.New(rand.NewPCG(seed, 1)), make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// problemCase is a convolution with all operands.
type problemCase struct {
	lower.Convolution
	bfloat16   bool
	x, w, y, b []float32
	want       []float32
	result     driver.Ptr
	rounded    bool // the result is of type bfloat16
}

// newCase makes the operands of a convolution and the expected results.
func (r *rig) newCase(c lower.Convolution, bias bool) *problemCase {
	g := c.Window()
	p := &problemCase{Convolution: c, bfloat16: c.Type == tensor.BFloat16}
	p.rounded = p.bfloat16 && !c.FloatGradient()
	p.x, p.w, p.y = numbers(1, g.Batch*g.InH*g.InW*g.InC), numbers(2, g.KH*g.KW*g.InC*g.OutC), numbers(3, g.Batch*g.OutH*g.OutW*g.OutC)
	p.X, p.Filter, p.Y = r.put(p.x, p.bfloat16), r.put(p.w, p.bfloat16), r.put(p.y, p.bfloat16)
	if bias {
		p.b = numbers(4, g.OutC)
		p.Bias, p.BiasType = r.put(p.b, p.bfloat16), c.Type
	}
	switch c.Direction {
	case lower.Forward:
		p.want, p.result = make([]float32, len(p.y)), p.Y
		host.Conv2D(g, p.want, p.x, p.w, p.b, c.Relu)
	case lower.InputGradient:
		p.want, p.result = make([]float32, len(p.x)), p.X
		host.Conv2DInputGrad(g, p.want, p.y, p.w)
	default:
		p.Filter = r.alloc(4 * len(p.w)) // of either type
		p.want, p.result = make([]float32, len(p.w)), p.Filter
		host.Conv2DFilterGrad(g, p.want, p.x, p.y)
	}
	return p
}

// check runs a convolution in a captured graph and compares.
func (r *rig) check(p *problemCase) {
	r.t.Helper()
	n := r.Workspace(p.Convolution)
	p.Convolution.Workspace, p.WorkspaceBytes = r.alloc(n), n
	l, err := r.Plan(p.Convolution)
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := r.s.Capture(func() error { return l.Issue(nativeStream{r.s, 77}) })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(g.Launch(r.s), r.s.Synchronize(), g.Close()); err != nil {
		r.t.Fatal(err)
	}
	tolerance := 1e-4
	if p.bfloat16 {
		tolerance = 2e-2
	}
	for i, v := range r.get(p.result, len(p.want), p.rounded) {
		if d := math.Abs(float64(v - p.want[i])); !(d <= tolerance*max(1, math.Abs(float64(p.want[i])))) {
			r.t.Fatalf("%+v: element %d of %d: expected %g, got %g", p.Convolution, i, len(p.want), p.want[i], v)
		}
	}
}
