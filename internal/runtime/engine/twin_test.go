package engine

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// twin is an Accelerator in memory: a fake device whose buffers the engine cannot map, and whose code runs the engine's Go
// forms of operations on the operands in place. It fails if a necessary call of Bind is missing.
type twin struct {
	device.Device
	name    string
	refuses func(o *Operation) bool       // ops without a kernel; nil: none
	fault   func(o *Operation) error      // the fault that an operation finds when it runs; nil: none
	room    func(o *Operation, b int) int // bytes of workspace; nil: 64 for each
	how     LowerOptions                  // the latest program's
	codes   []*twinCode
	pinned  atomic.Int64 // bytes handed out by AllocHost
}

func newTwin() *twin { return &twin{Device: device.NewFake(), name: "twin"} }

func (d *twin) Kind() string { return d.name }

// AllocHost implements device.HostAllocator; it counts.
func (d *twin) AllocHost(n int) (device.HostBuffer, error) {
	d.pinned.Add(int64(n))
	return &pinned{d, tensor.New(tensor.Uint8, n).Bytes}, nil
}

type pinned struct {
	d   *twin
	mem []byte
}

func (p *pinned) Bytes() []byte { return p.mem }

func (p *pinned) Free() error {
	p.d.pinned.Add(-int64(len(p.mem)))
	p.mem = nil
	return nil
}

// twinBuffer hides Mapped.
type twinBuffer struct{ in device.Buffer }

func (b twinBuffer) Len() int    { return b.in.Len() }
func (b twinBuffer) Free() error { return b.in.Free() }

func (d *twin) Alloc(n int) (device.Buffer, error) {
	b, err := d.Device.Alloc(n)
	if err != nil {
		return nil, err
	}
	return twinBuffer{b}, nil
}

func (d *twin) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	return &twinStream{s}, err
}

type twinStream struct{ device.Stream }

func unwrapped(b device.Buffer) device.Buffer {
	if t, ok := b.(twinBuffer); ok {
		return t.in
	}
	return nil
}

func (s *twinStream) Upload(dst device.Buffer, offset int, src []byte) error {
	return s.Stream.Upload(unwrapped(dst), offset, src)
}

func (s *twinStream) Download(dst []byte, src device.Buffer, offset int) error {
	return s.Stream.Download(dst, unwrapped(src), offset)
}

func (s *twinStream) Copy(dst device.Buffer, to int, src device.Buffer, from, n int) error {
	return s.Stream.Copy(unwrapped(dst), to, unwrapped(src), from, n)
}

func (s *twinStream) Launch(k device.Kernel) error {
	t, ok := k.(*twinKernel)
	if !ok {
		return fmt.Errorf("launch %T on the twin: %w", k, device.ErrKernel)
	}
	return s.Stream.Launch(t)
}

func (d *twin) Supports(o *Operation) error {
	if d.refuses != nil && d.refuses(o) {
		return fmt.Errorf("the twin has no kernel for %s", o.Node.Op)
	}
	if o.Node.Op != fusionOp {
		_, err := newTwinOp(o)
		return err
	}
	for _, n := range o.Body {
		d := registry()[n.Op]
		if d == nil || d.elemental == nil && !slices.Contains([]string{"Cast", "AddN", "SelectV2", "BiasAdd", "DivNoNan"}, n.Op) {
			return fmt.Errorf("%s is not elementwise", n.Op)
		}
		for _, in := range n.Inputs {
			if t := in.Type(); !t.DType.Float() && t.DType != tensor.Bool && t.DType != tensor.Int64 && t.DType != tensor.Int32 {
				return fmt.Errorf("type %v", t.DType)
			}
		}
	}
	_, err := newTwinOp(o)
	return err
}

func (d *twin) Lower(ops []*Operation, how LowerOptions) (Code, error) {
	d.how = how
	c := &twinCode{dev: d}
	for i, o := range ops {
		if o.Index != i {
			return nil, fmt.Errorf("operation %d says that it is %d", i, o.Index)
		}
		t, err := newTwinOp(o)
		if err != nil {
			return nil, err
		}
		c.ops = append(c.ops, t)
	}
	d.codes = append(d.codes, c)
	return c, nil
}

var _ Accelerator = (*twin)(nil)
