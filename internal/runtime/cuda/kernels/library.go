package kernels

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// ErrKernel means that a call's kernel is not loaded, or does not take its arguments.
var ErrKernel = errors.New("no such kernel")

// Library is modules loaded on one GPU. It is safe for concurrent use.
type Library struct {
	t  Target
	mu sync.RWMutex // guards the fields below

	modules   []driver.Module
	functions map[string]loaded
}

type loaded struct {
	f    driver.Function
	args int
}

// Target says for which GPU kernels are compiled, and by which compiler.
type Target struct {
	Context  driver.Context
	Compiler nvrtc.Compiler
	Arch     nvrtc.Arch
}

// ArchOf returns the architecture to compile for: the GPU's own, or the newest that the compiler knows.
func ArchOf(gpu driver.Info, compiler int) nvrtc.Arch {
	arch := gpu.Major*10 + gpu.Minor
	switch {
	case compiler < 11080:
		arch = min(arch, 80)
	case compiler < 12080:
		arch = min(arch, 90)
	}
	return nvrtc.Arch(arch)
}

// Load compiles modules and loads them.
func Load(ctx context.Context, t Target, modules ...Module) (*Library, error) {
	l := &Library{t: t, functions: map[string]loaded{}}
	if err := l.Add(ctx, modules...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Add compiles more modules and loads them, several at a time: the driver's translation of the compiled PTX takes as long as
// the compilation.
func (l *Library) Add(ctx context.Context, modules ...Module) error {
	errs := make([]error, len(modules))
	var wg sync.WaitGroup
	for i, m := range modules {
		wg.Go(func() {
			if err := l.load(ctx, m); err != nil {
				errs[i] = fmt.Errorf("load the kernels of %s: %w", m.Name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Has reports whether a kernel is loaded.
func (l *Library) Has(kernel string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, ok := l.functions[kernel]
	return ok
}

func (l *Library) load(ctx context.Context, m Module) error {
	ptx, err := l.t.Compiler.Compile(ctx, m.Source(), l.t.Arch)
	if err != nil {
		return err
	}
	mod, err := l.t.Context.Load(ptx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.modules = append(l.modules, mod)
	for _, k := range m.Kernels {
		f, err := mod.Function(k.Name)
		if err != nil {
			return err
		}
		l.functions[k.Name] = loaded{f, len(k.Params)}
	}
	return nil
}

// Launch issues a call to a stream.
func (l *Library) Launch(s driver.Stream, c Call) error {
	l.mu.RLock()
	f, ok := l.functions[c.Kernel]
	l.mu.RUnlock()
	if !ok {
		return fmt.Errorf("launch %q: %w", c.Kernel, ErrKernel)
	}
	if len(c.Args) != f.args {
		return fmt.Errorf("launch %s: expected %d arguments, got %d: %w", c.Kernel, f.args, len(c.Args), ErrKernel)
	}
	return s.Launch(f.f, c.Launch)
}

// Close unloads the modules.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, m := range l.modules {
		errs = append(errs, m.Close())
	}
	l.modules, l.functions = nil, nil
	return errors.Join(errs...)
}
