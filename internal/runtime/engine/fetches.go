package engine

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// resizeResults shapes the host's view of every fetch for the current batch. On the host the bytes are those of the
// program, else memory that the results are downloaded to.
func (p *Program) resizeResults() {
	if p.results == nil {
		p.results = make([]*tensor.Tensor, len(p.fetched))
	}
	for i, f := range p.fetched {
		v := f.value()
		if p.results[i] == nil {
			p.results[i] = &tensor.Tensor{DType: v.typ.DType, Shape: slices.Clone(v.dims)}
		}
		copy(p.results[i].Shape, v.dims)
		if p.left(i) {
			continue
		}
		if n := v.n * v.elem; !p.hostFeeds() && cap(p.results[i].Bytes) < n {
			p.results[i].Bytes = tensor.New(tensor.Uint8, n).Bytes
		} else if !p.hostFeeds() {
			p.results[i].Bytes = p.results[i].Bytes[:n]
		}
	}
}

// download brings some fetches to the host.
func (p *Program) download(fetches []int) error {
	for _, i := range fetches {
		if p.left(i) {
			continue
		}
		f := p.fetched[i]
		v, t := f.value(), p.results[i]
		if p.hostFeeds() {
			t.Bytes = v.bytes()
			continue
		}
		if len(t.Bytes) == 0 {
			continue
		}
		buf, off := p.bufferOf(f)
		if err := p.stream.Download(t.Bytes, buf, off); err != nil {
			return fmt.Errorf("fetch %d (%s): %w", i, f.op.node.Name, err)
		}
	}
	return nil
}

// bufferOf returns where a fetched value lies on the device.
func (p *Program) bufferOf(f port) (device.Buffer, int) {
	o := storageOf(f).op
	switch o.out[0].home {
	case inVariable:
		return o.reads.buf, 0
	case inConst:
		return o.constant, o.out[0].off
	}
	return p.arena, f.value().base().off
}

// Value returns fetch i of the last run: a view that is valid until the next one and, without Options.OwnFetches, must
// not be changed; nil unless that run succeeded, or has told Options.OnFetch of it, and there is such a fetch that
// was not left on the device.
func (p *Program) Value(i int) *tensor.Tensor {
	if i < 0 || i >= len(p.ready) || !p.ready[i].Load() || p.left(i) {
		return nil
	}
	return p.results[i]
}

// dropResults takes the results of the last run back.
func (p *Program) dropResults() {
	for i := range p.ready {
		p.ready[i].Store(false)
	}
}

// Fetch copies fetch i of the last run to dst, whose memory is used again where it is large enough.
func (p *Program) Fetch(i int, dst *tensor.Tensor) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i < 0 || i >= len(p.fetched) {
		return fmt.Errorf("fetch %d: the program has %d", i, len(p.fetched))
	}
	if !p.ready[i].Load() || p.left(i) {
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
