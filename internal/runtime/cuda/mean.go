package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nccl"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// Value describes one of the values of a Mean.
type Value struct {
	Type  tensor.DType // float32 or float64
	Count int          // elements
}

// Mean takes the mean of values over GPUs, without moving them to the host. One goroutine at a time may use it. Its results
// are the same bits on every GPU.
type Mean struct {
	gpus    []meanGPU // this process's
	types   []meanType
	places  []int         // offsets of values, in bytes
	reducer peers.Reducer // if all GPUs are this process's
	group   peers.Group   // for GPUs of several processes; the caller closes it
}

// meanGPU is the memory on one GPU, with the values one after the other.
type meanGPU struct {
	d      *Device
	stream *Stream
	buf    *buffer
}

// meanType is the range of the values of a type.
type meanType struct {
	t      tensor.DType
	offset int // bytes
	count  int // elements, gaps included
}

// meanAlign is the alignment of values, in bytes.
const meanAlign = 256

// NewMean allocates memory for the values on every GPU of this process. It sums with NCCL if found, else by copies between
// the GPUs, else through the host.
func NewMean(devices []*Device, values []Value) (*Mean, error) {
	m, err := newMean(devices, values)
	if err == nil {
		m.reducer, err = newReducer(devices)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mean over GPUs: %w", err), m.Close())
	}
	return m, nil
}

// newMean makes a mean without a reducer or group.
func newMean(devices []*Device, values []Value) (*Mean, error) {
	m := &Mean{places: make([]int, len(values))}
	for i, v := range values {
		if v.Type != tensor.Float32 && v.Type != tensor.Float64 || v.Count < 0 {
			return m, fmt.Errorf("value %d: expected float32 or float64, got %d of %v", i, v.Count, v.Type)
		}
	}
	size := 0
	for _, t := range []tensor.DType{tensor.Float32, tensor.Float64} {
		of := meanType{t: t, offset: size}
		for i, v := range values {
			if v.Type == t {
				m.places[i] = size
				size += (v.Count*t.Size() + meanAlign - 1) / meanAlign * meanAlign
			}
		}
		if of.count = (size - of.offset) / t.Size(); of.count > 0 {
			m.types = append(m.types, of)
		}
	}
	for _, d := range devices {
		if err := m.join(d, size); err != nil {
			return m, err
		}
	}
	return m, nil
}

// join adds a GPU.
func (m *Mean) join(d *Device, size int) error {
	b, err := d.Alloc(size)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return errors.Join(err, b.Free())
	}
	m.gpus = append(m.gpus, meanGPU{d, s.(*Stream), b.(*buffer)})
	return nil
}

// newReducer chooses the way to sum.
func newReducer(devices []*Device) (peers.Reducer, error) {
	var all []peers.Device
	var contexts []driver.Context
	for _, d := range devices {
		all, contexts = append(all, peers.Device{Context: d.context, Kernels: d.library}), append(contexts, d.context)
	}
	var missing *dylib.NotFoundError
	g, err := nccl.Open(contexts)
	switch {
	case err == nil:
		return g, nil
	case !errors.As(err, &missing) && !errors.Is(err, nccl.ErrVersion) && !errors.Is(err, nccl.ErrNotNative):
		return nil, err
	}
	x, err := peers.NewExchange(all)
	switch {
	case err == nil:
		return x, nil
	case errors.Is(err, peers.ErrNoPeers):
		return peers.NewHost(contexts), nil
	}
	return nil, err
}

// Place returns the place of a value on a GPU, which may be read after Take.
func (m *Mean) Place(gpu, value int) engine.Resident {
	return engine.Resident{Buffer: m.gpus[gpu].buf, Offset: m.places[value]}
}

// Put copies that many bytes of a GPU to a value's place. The source may be changed after Take.
func (m *Mean) Put(gpu, value int, from engine.Resident, bytes int) error {
	g := &m.gpus[gpu]
	return g.stream.Copy(g.buf, m.places[value], from.Buffer, from.Offset, bytes)
}

// Clear sets a GPU's values to zero, for a GPU without values of its own.
func (m *Mean) Clear(gpu int) error {
	g := &m.gpus[gpu]
	return g.stream.done("clear", g.stream.s.Fill(g.buf.p, 0, g.buf.n))
}

// Take sums the values over the GPUs and divides by the number of replicas that brought values. It waits for the result, and
// for other processes until ctx ends.
func (m *Mean) Take(ctx context.Context, by int) error {
	err := m.sum(ctx, by)
	if m.group != nil {
		err = m.await(ctx, err)
	} else {
		for i := range m.gpus {
			err = errors.Join(err, m.gpus[i].stream.Synchronize())
		}
	}
	if err != nil {
		return fmt.Errorf("mean over GPUs: %w", err)
	}
	return nil
}

func (m *Mean) sum(ctx context.Context, by int) error {
	parts := make([]peers.Part, len(m.gpus))
	for _, t := range m.types {
		for i := range m.gpus {
			g := &m.gpus[i]
			if err := g.d.alive(); err != nil {
				return err
			}
			parts[i] = peers.Part{Stream: g.stream.s, Address: g.buf.p + driver.Ptr(t.offset), Count: t.count, Type: t.t}
		}
		if err := m.reduce(ctx, parts); err != nil {
			return m.blame(err)
		}
		for i := range m.gpus {
			if by == 1 {
				break
			}
			g := &m.gpus[i]
			if err := g.d.library.Launch(g.stream.s, kernels.PeersDivide(t.t, parts[i].Address, t.count, by)); err != nil {
				return g.stream.done("divide", err)
			}
		}
	}
	return nil
}

func (m *Mean) reduce(ctx context.Context, parts []peers.Part) error {
	if m.group != nil {
		return m.group.Reduce(ctx, parts)
	}
	return m.reducer.AllReduce(parts)
}

// blame marks all GPUs lost if the error says that one is: it does not say which, and none can go on without the others.
func (m *Mean) blame(err error) error {
	for i := range m.gpus {
		if lost := m.gpus[i].d.check(err); errors.Is(lost, device.ErrLost) {
			err = lost
		}
	}
	return err
}

// Close frees the memory.
func (m *Mean) Close() error {
	var errs []error
	if m.reducer != nil {
		errs = append(errs, m.reducer.Close())
	}
	for i := range m.gpus {
		errs = append(errs, m.gpus[i].stream.Close(), m.gpus[i].buf.Free())
	}
	m.reducer, m.gpus = nil, nil
	return errors.Join(errs...)
}
