package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// ReadAt copies a part of a variable's bytes, from offset on, into dst. Unlike Get it needs no memory of its own.
func (v *Variables) ReadAt(name string, dst []byte, offset int) error {
	v.rlock(nil)
	defer v.mu.RUnlock()
	return v.access(name, func(x *variable) error { return v.stream.Download(dst, x.buf, offset) })
}

// Version returns a number that changes with every update of the variable, so that callers can tell whether a value that they
// have is still current. It is 0 for an unknown variable.
func (v *Variables) Version(name string) uint64 {
	v.rlock(nil)
	defer v.mu.RUnlock()
	if x := v.byName[name]; x != nil {
		return x.version + 1
	}
	return 0
}

// WriteAt replaces a part of a variable's bytes, from offset on, by src.
func (v *Variables) WriteAt(name string, src []byte, offset int) error {
	v.lock(nil)
	defer v.mu.Unlock()
	return v.access(name, func(x *variable) error {
		x.version++
		return v.stream.Upload(x.buf, offset, src)
	})
}

// ReadRows copies rows of a variable, along its first dimension, one after the other into dst.
func (v *Variables) ReadRows(name string, rows []int32, dst []byte) error {
	v.rlock(nil)
	defer v.mu.RUnlock()
	return v.access(name, func(x *variable) error {
		if len(x.shape) == 0 || x.shape[0] == 0 {
			return fmt.Errorf("variable %s of shape %v has no rows: %w", name, x.shape, ErrVariable)
		}
		k := &rowReader{v: x, rows: rows, dst: dst, size: x.n / x.shape[0] * x.elem}
		if len(dst) != len(rows)*k.size {
			return fmt.Errorf("%d rows of variable %s take %d bytes, got %d", len(rows), name, len(rows)*k.size, len(dst))
		}
		if _, ok := x.buf.(device.Mapped); !ok {
			return k.download(v.stream)
		}
		return v.stream.Launch(k)
	})
}

// access runs an operation on a variable's buffer and waits for it.
func (v *Variables) access(name string, do func(x *variable) error) error {
	x := v.byName[name]
	if x == nil {
		return v.unknown(name)
	}
	v.io.Lock()
	defer v.io.Unlock()
	if err := do(x); err != nil {
		return err
	}
	return v.stream.Synchronize()
}

// rowReader is the kernel of ReadRows.
type rowReader struct {
	v    *variable
	rows []int32
	dst  []byte
	size int // bytes of a row
}

var _ device.GoKernel = (*rowReader)(nil)

// check refuses rows that the variable does not have.
func (g *rowReader) check() error {
	count := g.v.shape[0]
	for i, r := range g.rows {
		if r < 0 || int(r) >= count {
			return &IndexError{Index: int(r), Position: i, Size: count}
		}
	}
	return nil
}

// download is Run for memory that Go code cannot reach: it copies ranges of consecutive rows.
func (g *rowReader) download(s device.Stream) error {
	if err := g.check(); err != nil || g.size == 0 {
		return err
	}
	for from := 0; from < len(g.rows); {
		to := from + 1
		for to < len(g.rows) && g.rows[to] == g.rows[to-1]+1 {
			to++
		}
		if err := s.Download(g.dst[from*g.size:to*g.size], g.v.buf, int(g.rows[from])*g.size); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// Run implements device.GoKernel.
func (g *rowReader) Run() error {
	if err := g.check(); err != nil {
		return err
	}
	mem := g.v.memory()
	for i, r := range g.rows {
		if i%touched == 0 && g.size > 0 {
			touch(mem, g.rows[i:min(i+touched, len(g.rows))], g.size)
		}
		copy(g.dst[i*g.size:(i+1)*g.size], mem[int(r)*g.size:])
	}
	return nil
}
