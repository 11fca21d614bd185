package kernels

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/device/cuda/driver"
	"github.com/goestimator/goestimator/internal/device/cuda/nvrtc"
)

// ErrKernel tells of a call of a kernel that is not loaded, or with arguments that it does not take.
var ErrKernel = errors.New("no such kernel")

// Library is modules loaded on one GPU.
type Library struct {
	modules   []driver.Module
	functions map[string]loaded
}

type loaded struct {
	f    driver.Function
	args int
}

// Target says for which GPU kernels are compiled, and by what.
type Target struct {
	Context  driver.Context
	Compiler nvrtc.Compiler
	Arch     nvrtc.Arch
}

// ArchOf is what to compile for on a GPU: its own architecture, or the newest that the compiler knows.
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
	l := &Library{functions: map[string]loaded{}}
	for _, m := range modules {
		if err := l.load(ctx, t, m); err != nil {
			return nil, errors.Join(fmt.Errorf("load the kernels of %s: %w", m.Name, err), l.Close())
		}
	}
	return l, nil
}

func (l *Library) load(ctx context.Context, t Target, m Module) error {
	ptx, err := t.Compiler.Compile(ctx, m.Source(), t.Arch)
	if err != nil {
		return err
	}
	mod, err := t.Context.Load(ptx)
	if err != nil {
		return err
	}
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
	f, ok := l.functions[c.Kernel]
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
	var errs []error
	for _, m := range l.modules {
		errs = append(errs, m.Close())
	}
	l.modules, l.functions = nil, nil
	return errors.Join(errs...)
}
