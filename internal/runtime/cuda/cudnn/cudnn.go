package cudnn

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
)

// Convolutions implements lower.Convolutions with cuDNN, on one GPU. Its methods may be called from any goroutine.
type Convolutions struct {
	context driver.NativeContext
	kernels *kernels.Library
	own     lower.Convolutions // for convolutions without an engine in cuDNN

	mu    sync.Mutex // one thread at a time may use cuDNN's handle
	cudnn *native    // nil once closed
	plans map[problem]*plan
}

// ErrClosed means that Convolutions was used after Close.
var ErrClosed = errors.New("cuDNN was closed on this GPU")

// Open finds cuDNN, looking in the given directories first, and starts it for a context of a real GPU. lib has the modules of
// package kernels. If the library is absent or too old, the error is a *dylib.NotFoundError.
func Open(context driver.Context, lib *kernels.Library, first ...string) (*Convolutions, error) {
	p, err := load(first...)
	if err != nil {
		return nil, err
	}
	return open(context, lib, p)
}

func open(context driver.Context, lib *kernels.Library, p *procs) (*Convolutions, error) {
	c, ok := context.(driver.NativeContext)
	if !ok {
		return nil, fmt.Errorf("cuDNN: %w: the context is of no real GPU", driver.ErrInvalid)
	}
	v := &Convolutions{context: c, kernels: lib, own: lower.OwnConvolutions(lib), plans: map[problem]*plan{}}
	err := c.Current(func() (err error) {
		v.cudnn, err = newNative(p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cuDNN: %w", err)
	}
	return v, nil
}

// Version returns the library's version: 90100 for 9.1.0.
func (v *Convolutions) Version() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cudnn == nil {
		return 0
	}
	return int(v.cudnn.getVersion.Call())
}

// call runs f with the GPU's context current, one at a time.
func (v *Convolutions) call(f func(n *native) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cudnn == nil {
		return ErrClosed
	}
	return v.context.Current(func() error { return f(v.cudnn) })
}

// Close frees cuDNN's resources. Issued work must be over.
func (v *Convolutions) Close() error {
	err := v.call(func(n *native) error {
		for _, p := range v.plans {
			if p != nil {
				p.destroyAll()
			}
		}
		return n.close()
	})
	v.mu.Lock()
	v.cudnn, v.plans = nil, nil
	v.mu.Unlock()
	return err
}

// plan returns the plan of a problem, made at first use, or nil if own kernels must do it.
func (v *Convolutions) plan(p problem) (found *plan, err error) {
	if g := p.window; g.Batch*g.OutH*g.OutW == 0 || g.InH*g.InW == 0 {
		return nil, nil
	}
	err = v.call(func(n *native) error {
		var known bool
		if found, known = v.plans[p]; known {
			return nil
		}
		var err error
		found, err = newPlan(n, p)
		if err != nil && !errors.Is(err, errNoEngine) {
			return fmt.Errorf("convolution by cuDNN: %w", err)
		}
		v.plans[p] = found
		return nil
	})
	return found, err
}

// Refused lists the convolutions that cuDNN has no engine for: own kernels do them.
func (v *Convolutions) Refused() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for p, found := range v.plans {
		if found == nil {
			all = append(all, p.String())
		}
	}
	slices.Sort(all)
	return all
}

// filter returns the filter of a convolution in both layouts, with the packed one at the workspace's start.
func (p *plan) filter(c lower.Convolution) kernels.Filter {
	return kernels.Filter{Rows: c.Filter, Packed: c.Workspace, KH: c.H, KW: c.W, InC: c.InC, OutC: c.OutC,
		TallH: p.layout.h.k, TallW: p.layout.w.k, Top: p.layout.top, Left: p.layout.left, BFloat16: c.Type == tensor.BFloat16, FloatRows: c.FloatGradient()}
}

// packedBytes is the size of the filter's part of the workspace.
func (p *plan) packedBytes(c lower.Convolution) int {
	const alignment = 256
	return (p.filter(c).PackedBytes() + alignment - 1) / alignment * alignment
}

// Workspace implements lower.Convolutions.
func (v *Convolutions) Workspace(c lower.Convolution) int {
	if c.Check() != nil {
		return 0 // Plan tells
	}
	p, err := v.plan(problemOf(c))
	if err != nil || p == nil {
		return v.own.Workspace(c)
	}
	return p.packedBytes(c) + p.workspace
}

// Plan implements lower.Convolutions.
func (v *Convolutions) Plan(c lower.Convolution) (lower.Launch, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p, err := v.plan(problemOf(c))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return v.own.Plan(c)
	}
	if n := p.packedBytes(c) + p.workspace; c.WorkspaceBytes < n {
		return nil, fmt.Errorf("convolution by cuDNN: expected a workspace of %d bytes, got %d", n, c.WorkspaceBytes)
	}
	f, run := p.filter(c), &launch{v, p, c}
	if c.Direction == lower.FilterGradient {
		return append(lower.Sequence{run}, lower.Launches(v.kernels, f.Unpack())...), nil
	}
	all := append(lower.Sequence(lower.Launches(v.kernels, f.Pack())), run)
	if c.Direction == lower.Forward && (p.bias != (c.Bias != 0) || p.relu != c.Relu) {
		all = append(all, lower.Launches(v.kernels, epilogue(c))...)
	}
	return all, nil
}

// epilogue is the bias and relu after an engine that does neither.
func epilogue(c lower.Convolution) kernels.Call {
	return kernels.Conv{Window: c.Window(), Y: c.Y, Bias: c.Bias, Relu: c.Relu, BFloat16: c.Type == tensor.BFloat16}.Epilogue()
}

// launch is a convolution with its plan.
type launch struct {
	v *Convolutions
	p *plan
	c lower.Convolution
}

// Issue implements lower.Launch.
func (l *launch) Issue(s driver.Stream) error {
	stream, ok := s.(driver.NativeStream)
	if !ok {
		return fmt.Errorf("convolution by cuDNN: %w: the stream is of no real GPU", driver.ErrInvalid)
	}
	workspace := uint64(l.c.Workspace) + uint64(l.p.packedBytes(l.c))
	return l.v.call(func(*native) error { return l.p.run(l.c, uint64(l.c.Workspace), workspace, stream.Handle()) })
}
