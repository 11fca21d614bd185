package engine

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// resizeResults shapes the host's view of every fetch for the current batch. On the host the bytes are the program's
// memory, otherwise memory that the results are downloaded to.
func (s *state) resizeResults() {
	if s.results == nil {
		s.results = make([]*tensor.Tensor, len(s.fetched))
	}
	for i, f := range s.fetched {
		v := f.value()
		if s.results[i] == nil {
			s.results[i] = &tensor.Tensor{DType: v.typ.DType, Shape: slices.Clone(v.dims)}
		}
		copy(s.results[i].Shape, v.dims)
		if s.left[i] {
			continue
		}
		if n := v.n * v.elem; !s.inPlace && cap(s.results[i].Bytes) < n {
			s.results[i].Bytes = tensor.New(tensor.Uint8, n).Bytes
		} else if !s.inPlace {
			s.results[i].Bytes = s.results[i].Bytes[:n]
		}
	}
}

// download copies the fetches of a phase to the host and waits for them.
func (s *state) download(phase int) error {
	for _, i := range s.phases[phase].fetches {
		if s.left[i] {
			continue
		}
		f := s.fetched[i]
		v, t := f.value(), s.results[i]
		if s.inPlace {
			t.Bytes = v.bytes()
			continue
		}
		if len(t.Bytes) == 0 {
			continue
		}
		buf, off := s.bufferOf(f)
		if err := s.stream.Download(t.Bytes, buf, off); err != nil {
			return fmt.Errorf("fetch %d (%s): %w", i, f.op.node.Name, err)
		}
	}
	return s.stream.Synchronize()
}

// bufferOf returns where a fetched value lies on the device.
func (s *state) bufferOf(f port) (device.Buffer, int) {
	o := storageOf(f).op
	switch o.out[0].home {
	case inVariable:
		return o.reads.buf, 0
	case inConst:
		return s.consts, o.out[0].off
	}
	return s.arena, f.value().base().off
}

// Value returns fetch i of the last run: a view that is valid until the next run and, without Options.OwnFetches, must not
// be changed. It returns nil if the fetch does not exist or was left on the device, or if the run did not succeed, unless
// the run has called Options.OnFetch for i.
func (p *Program) Value(i int) *tensor.Tensor {
	if i < 0 || i >= len(p.ready) || !p.ready[i].Load() || p.left[i] {
		return nil
	}
	return p.results[i]
}

// dropResults invalidates the results of the last run.
func (p *Program) dropResults() {
	for i := range p.ready {
		p.ready[i].Store(false)
	}
}

// Fetch copies fetch i of the last run to dst, reusing dst's memory if it is large enough.
func (p *Program) Fetch(i int, dst *tensor.Tensor) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i < 0 || i >= len(p.fetched) {
		return fmt.Errorf("fetch %d: the program has %d", i, len(p.fetched))
	}
	if !p.ready[i].Load() || p.left[i] {
		return fmt.Errorf("fetch %d: the last run gave no results", i)
	}
	r := p.results[i]
	if cap(dst.Bytes) < len(r.Bytes) {
		dst.Bytes = tensor.New(tensor.Uint8, len(r.Bytes)).Bytes
	}
	dst.DType, dst.Bytes, dst.Shape = r.DType, dst.Bytes[:len(r.Bytes)], append(dst.Shape[:0], r.Shape...)
	copy(dst.Bytes, r.Bytes)
	return nil
}
