package main

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/cublaslt"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
)

// ceiling is a maximum rate of the chip, as measured here.
type ceiling struct {
	Name string  `json:"name"` // "float32", "tf32" and "bf16_mixed" products, or "memory"
	Rate float64 `json:"rate"` // 1e12 operations per second, or 1e9 bytes (read and written)
}

// noProducts replaces our own kernels, so that only the library's are measured.
type noProducts struct{}

var errRefused = errors.New("cuBLASLt refuses the product")

func (noProducts) Workspace(lower.Product) int                  { return 0 }
func (noProducts) Plan(lower.Product) (l lower.Launch, _ error) { return l, errRefused }

// ceilings measures the rates of square matrix products in cuBLASLt and of copies. There are none for the emulated GPU.
func ceilings(g *gpu) ([]ceiling, error) {
	if g.emulated {
		return nil, nil
	}
	bandwidth, err := copyRate(g)
	if err != nil {
		return nil, fmt.Errorf("rate of copies: %w", err)
	}
	out := []ceiling{{"memory", bandwidth}}
	p, err := cublaslt.Open(g.Context(), noProducts{})
	if err != nil {
		return nil, fmt.Errorf("rates of products: %w", err)
	}
	for _, how := range []struct {
		name string
		t    tensor.DType
		p    lower.Precision
	}{{"float32", tensor.Float32, lower.Float32}, {"tf32", tensor.Float32, lower.TF32}, {"bf16_mixed", tensor.BFloat16, lower.Float32}} {
		rate, err := productRate(g, p, how.t, how.p)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("rate of %s products: %w", how.name, err), p.Close())
		}
		out = append(out, ceiling{how.name, rate})
	}
	return out, p.Close()
}

// allocations are freed together.
type allocations struct {
	c   driver.Context
	all []driver.Ptr
}

func (a *allocations) alloc(bytes int) (driver.Ptr, error) {
	p, err := a.c.Alloc(bytes)
	if err == nil {
		a.all = append(a.all, p)
	}
	return p, err
}

func (a *allocations) free() error {
	var errs []error
	for _, p := range a.all {
		errs = append(errs, a.c.Free(p))
	}
	return errors.Join(errs...)
}

// best issues work repeat times in a row, several times, and returns the seconds for one in the fastest run.
func best(g *gpu, repeat int, issue func(s driver.Stream) error) (seconds float64, err error) {
	s, err := g.Context().NewStream()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i := range 6 { // the first warms up
		took, err := g.timed(func() error {
			for range repeat {
				if err := issue(s); err != nil {
					return err
				}
			}
			return s.Synchronize()
		})
		if err != nil {
			return 0, err
		}
		if t := took.Seconds() / float64(repeat); i > 0 && (seconds == 0 || t < seconds) {
			seconds = t
		}
	}
	return seconds, nil
}

func copyRate(g *gpu) (rate float64, err error) {
	const bytes = 4 << 30
	m := allocations{c: g.Context()}
	defer func() { err = errors.Join(err, m.free()) }()
	from, err1 := m.alloc(bytes)
	to, err2 := m.alloc(bytes)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	t, err := best(g, 10, func(s driver.Stream) error { return s.Copy(to, from, bytes) })
	return 2 * bytes / t / 1e9, err
}

func productRate(g *gpu, p *cublaslt.Products, t tensor.DType, how lower.Precision) (rate float64, err error) {
	const n = 8192
	m := allocations{c: g.Context()}
	defer func() { err = errors.Join(err, m.free()) }()
	matrix := lower.Matrix{Type: t, Stride: n}
	q := lower.Product{M: n, N: n, K: n, Precision: how, A: matrix, B: matrix, Out: matrix}
	q.WorkspaceBytes = max(p.Workspace(q), 1)
	for at, bytes := range map[*driver.Ptr]int{&q.A.At: n * n * t.Size(), &q.B.At: n * n * t.Size(), &q.Out.At: n * n * t.Size(), &q.Workspace: q.WorkspaceBytes} {
		if *at, err = m.alloc(bytes); err != nil {
			return 0, err
		}
	}
	if err := fillRandom(g, q); err != nil {
		return 0, err
	}
	l, err := p.Plan(q)
	if err != nil {
		return 0, err
	}
	seconds, err := best(g, 10, l.Issue)
	return 2 * n * n * n / seconds / 1e12, err
}

// fillRandom fills the operands with random numbers: with zeros the chip takes less power and runs faster.
func fillRandom(g *gpu, q lower.Product) (err error) {
	bytes := q.M * q.K * q.A.Type.Size()
	host, err := g.Context().AllocHost(bytes)
	if err != nil {
		return err
	}
	s, err := g.Context().NewStream()
	if err != nil {
		return errors.Join(err, host.Free())
	}
	b := host.Bytes()
	for i := 0; i+3 < len(b); i += 4 {
		r := mixed(7, uint32(i))
		// Two bfloat16 numbers, or one float32: exponents of 0.25 to 1, any sign and fraction.
		b[i], b[i+1], b[i+2], b[i+3] = byte(r), 0x3e|byte(r>>8)&0x80|byte(r>>10)&1, byte(r>>16), 0x3e|byte(r>>24)&0x80|byte(r>>26)&1
	}
	return errors.Join(s.Upload(q.A.At, b), s.Upload(q.B.At, b), s.Synchronize(), s.Close(), host.Free())
}
