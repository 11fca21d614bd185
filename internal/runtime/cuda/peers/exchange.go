package peers

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
)

// Exchange sums with copies between GPUs. Each GPU owns a chunk: it fetches the others' values of the chunk and sums them in
// the order of the ranks, then the others fetch the sum. So each GPU receives and sends 2(n-1)/n of the data, as in a ring,
// but in two steps instead of 2(n-1), and the order of the sum does not depend on the chunk. The host does not wait.
type Exchange struct {
	members []member
}

// member is one GPU.
type member struct {
	Device
	// Events of the last sum: the GPU's values are complete; its chunk is summed; it has fetched all sums.
	ready, summed, gathered driver.Event
	scratch                 driver.Ptr
	size                    int // bytes of scratch
}

// ErrNoPeers means that a driver cannot copy between GPUs.
var ErrNoPeers = errors.New("the driver does not copy between GPUs")

// chunkAlign is the alignment of chunks in elements: whole memory lines for any type.
const chunkAlign = 64

// NewExchange opens the paths between GPUs. Its error is ErrNoPeers if the driver cannot copy between them. (If it can, but
// the machine has no direct path, the driver copies through the host.)
func NewExchange(devices []Device) (*Exchange, error) {
	x := &Exchange{members: make([]member, len(devices))}
	for i, d := range devices {
		x.members[i].Device = d
		from, ok := d.Context.(driver.PeerContext)
		if !ok {
			return nil, fmt.Errorf("GPU %d: %w", i, ErrNoPeers)
		}
		for j, other := range devices {
			if i == j {
				continue
			}
			if _, err := from.Reach(other.Context); err != nil {
				return nil, fmt.Errorf("path from GPU %d to %d: %w", i, j, err)
			}
		}
	}
	for i := range x.members {
		m := &x.members[i]
		for _, e := range []*driver.Event{&m.ready, &m.summed, &m.gathered} {
			var err error
			if *e, err = m.Context.NewEvent(false); err != nil {
				return nil, errors.Join(fmt.Errorf("GPU %d: %w", i, err), x.Close())
			}
		}
	}
	return x, nil
}

// AllReduce implements Reducer.
func (x *Exchange) AllReduce(parts []Part) error {
	if err := Check(parts, len(x.members)); err != nil || len(parts) < 2 || parts[0].Count == 0 {
		return err
	}
	s := sum{x: x, parts: parts, chunk: chunkOf(parts[0].Count, len(parts))}
	for _, step := range []struct {
		name string
		do   func(rank int) error
	}{
		{"prepare", s.prepare}, {"add", s.add}, {"fetch the sums", s.gather}, {"wait for the others", s.end},
	} {
		for i := range parts { // each step needs all ranks' events of the step before
			if err := step.do(i); err != nil {
				return fmt.Errorf("sum over GPUs: %s, GPU %d: %w", step.name, i, errors.Join(err, s.abandon()))
			}
		}
	}
	return nil
}

// chunkOf returns the number of elements that each GPU sums. The last GPUs have fewer or none.
func chunkOf(count, gpus int) int {
	n := (count + gpus - 1) / gpus
	return (n + chunkAlign - 1) / chunkAlign * chunkAlign
}

// sum is one AllReduce.
type sum struct {
	x     *Exchange
	parts []Part
	chunk int
}

// own returns the start and size of a rank's chunk, in elements.
func (s *sum) own(rank int) (first, n int) {
	first = min(rank*s.chunk, s.parts[0].Count)
	return first, min(s.chunk, s.parts[0].Count-first)
}

func (s *sum) bytes(elements int) int { return elements * s.parts[0].Type.Size() }

// at returns the address of an element of a rank's part.
func (s *sum) at(rank, element int) driver.Ptr {
	return s.parts[rank].Address + driver.Ptr(s.bytes(element))
}

// prepare makes room for the others' values, and records that this rank's values are complete.
func (s *sum) prepare(rank int) error {
	m := &s.x.members[rank]
	if need := s.bytes(s.chunk * len(s.parts)); need > m.size {
		if err := m.release(); err != nil {
			return err
		}
		p, err := m.Context.Alloc(need)
		if err != nil {
			return err
		}
		m.scratch, m.size = p, need
	}
	return s.parts[rank].Stream.Record(m.ready)
}

// add fetches the others' values of this rank's chunk and adds them.
func (s *sum) add(rank int) error {
	m, stream := &s.x.members[rank], s.parts[rank].Stream
	first, n := s.own(rank)
	if n == 0 {
		return stream.Record(m.summed)
	}
	peer, ok := stream.(driver.PeerStream)
	if !ok {
		return ErrNoPeers
	}
	for i := range s.parts {
		// Begin with the next rank, so that not all ranks read from the same GPU.
		from := (rank + 1 + i) % len(s.parts)
		if from == rank {
			continue
		}
		o := &s.x.members[from]
		if err := peer.WaitPeer(o.ready); err != nil {
			return err
		}
		if err := peer.CopyPeer(m.scratch+driver.Ptr(s.bytes(from*s.chunk)), o.Context, s.at(from, first), s.bytes(n)); err != nil {
			return err
		}
	}
	call := kernels.PeersSum{Type: s.parts[0].Type, Own: s.at(rank, first), Parts: m.scratch, N: n, Stride: s.chunk, Count: len(s.parts), Self: rank}.Call()
	return errors.Join(m.Kernels.Launch(stream, call), stream.Record(m.summed))
}

// gather fetches the sums of the others' chunks. By then the others do not need this rank's values of their chunks.
func (s *sum) gather(rank int) error {
	m, stream := &s.x.members[rank], s.parts[rank].Stream
	for i := range s.parts {
		from := (rank + 1 + i) % len(s.parts)
		first, n := s.own(from)
		if from == rank || n == 0 {
			continue
		}
		peer, ok := stream.(driver.PeerStream)
		if !ok {
			return ErrNoPeers
		}
		o := &s.x.members[from]
		if err := peer.WaitPeer(o.summed); err != nil {
			return err
		}
		if err := peer.CopyPeer(s.at(rank, first), o.Context, s.at(from, first), s.bytes(n)); err != nil {
			return err
		}
	}
	return stream.Record(m.gathered)
}

// end keeps later work of a stream from changing values that others still fetch.
func (s *sum) end(rank int) error {
	peer, ok := s.parts[rank].Stream.(driver.PeerStream)
	if !ok {
		return ErrNoPeers
	}
	for i := range s.x.members {
		if i == rank {
			continue
		}
		if err := peer.WaitPeer(s.x.members[i].gathered); err != nil {
			return err
		}
	}
	return nil
}

// abandon waits for the work that a failed sum has issued.
func (s *sum) abandon() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.Stream.Synchronize())
	}
	return errors.Join(errs...)
}

// release frees the scratch memory once no sum uses it.
func (m *member) release() error {
	if m.scratch == 0 {
		return nil
	}
	err := errors.Join(m.summed.Synchronize(), m.Context.Free(m.scratch))
	m.scratch, m.size = 0, 0
	return err
}

// Close implements Reducer.
func (x *Exchange) Close() error {
	var errs []error
	for i := range x.members {
		m := &x.members[i]
		errs = append(errs, m.release())
		for _, e := range []driver.Event{m.ready, m.summed, m.gathered} {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	x.members = nil
	return errors.Join(errs...)
}
