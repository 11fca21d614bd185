package emulate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

//go:embed gpu.h
var header string

// Compiler is the C++ compiler that Build calls.
const Compiler = "c++"

// FlagsVariable names the environment variable with more arguments for the compiler.
const FlagsVariable = "GOESTIMATOR_EMULATED_FLAGS"

// Build compiles modules into libraries in dir and registers their kernels with d. It fails with exec.ErrNotFound if there
// is no C++ compiler, and with dylib.ErrNoLoader if the result cannot be loaded.
func Build(ctx context.Context, d *fake.Driver, dir string, modules ...kernels.Module) error {
	for _, m := range modules {
		lib := dylib.Name("libemulated_" + m.Name + ".so")
		err := build(ctx, m, filepath.Join(dir, string(lib)))
		if err == nil {
			err = register(d, m, lib, dir)
		}
		if err != nil {
			return fmt.Errorf("emulate %s: %w", m.Name, err)
		}
	}
	return nil
}

// build compiles a module into a library.
func build(ctx context.Context, m kernels.Module, lib string) error {
	args := []string{"-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-gnu-unique", "-shared", "-fPIC", "-o", lib}
	args = append(args, strings.Fields(os.Getenv(FlagsVariable))...)
	cmd := exec.CommandContext(ctx, Compiler, append(args, "-x", "c++", "-")...)
	cmd.Stdin = strings.NewReader(program(m))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// register loads a library and registers its kernels with a driver.
func register(d *fake.Driver, m kernels.Module, lib dylib.Name, dir string) error {
	l, err := dylib.Open(lib, dir)
	if err != nil {
		return err
	}
	lock, _ := running.LoadOrStore(l.Path(), &sync.Mutex{})
	one := lock.(*sync.Mutex)
	for _, k := range m.Kernels {
		var run dylib.Proc
		if err := l.Bind(map[string]*dylib.Proc{"emulate_" + k.Name: &run}); err != nil {
			return err
		}
		d.Register(k.Name, func(c *fake.Call) error {
			one.Lock()
			defer one.Unlock()
			return launch(run, k, c)
		})
	}
	return nil
}

// program returns a module's source with a C function for each kernel.
func program(m kernels.Module) string {
	var b strings.Builder
	b.WriteString(header)
	b.WriteString(strings.ReplaceAll(m.Text, `extern "C" __global__`, "__global__"))
	for _, k := range m.Kernels {
		fmt.Fprintf(&b, `
extern "C" int emulate_%s(const uint64_t *cells, const unsigned *dims) {
  return gpu::launch(%s, cells, dims);
}
`, k.Name, k.Name)
	}
	return b.String()
}

// launch replaces the fake's pointers by the addresses of its memory and calls the library.
func launch(run dylib.Proc, k kernels.Kernel, c *fake.Call) error {
	cells := make([]uint64, len(c.Args)+1)
	memory := make([][]byte, len(c.Args)) // stays reachable while C uses it
	for i, a := range c.Args {
		cells[i] = uint64(a)
		if k.Params[i] != 'p' || a == 0 {
			continue
		}
		mem, err := c.Memory(i)
		if err != nil {
			return err
		}
		memory[i] = mem
		cells[i] = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	}
	dims := [7]uint32{6: order()}
	for i, n := range []int{c.Grid.X, c.Grid.Y, c.Grid.Z, c.Block.X, c.Block.Y, c.Block.Z} {
		dims[i] = uint32(max(n, 1))
	}
	wrong := int32(run.Call(uintptr(unsafe.Pointer(&cells[0])), uintptr(unsafe.Pointer(&dims))))
	runtime.KeepAlive(memory)
	if wrong != 0 {
		return fmt.Errorf("%s, grid %v, block %v: %w", k.Name, c.Grid, c.Block, []error{ErrBarrier, ErrWarp}[wrong-1])
	}
	return nil
}

// Errors that end a launch, because it would hang on a GPU or give wrong results.
var (
	ErrBarrier = errors.New("a barrier that not all threads of the block come to")
	ErrWarp    = errors.New("a shuffle, or a tile of a product, that not all threads of the warp come to")
)

// OrderVariable names the environment variable that chooses the order of threads and blocks between barriers: forward,
// backward or, for any other value, at random.
const OrderVariable = "GOESTIMATOR_EMULATED_ORDER"

func order() uint32 {
	if i := slices.Index([]string{"forward", "backward"}, os.Getenv(OrderVariable)); i >= 0 {
		return uint32(i)
	}
	return 2
}

// Declared is a compiler for fake contexts. Its PTX has only the declarations of the modules in it.
type Declared []kernels.Module

// Version returns the fake driver's version.
func (d Declared) Version() int { return 12040 }

// Compile writes the declarations.
func (d Declared) Compile(_ context.Context, s nvrtc.Source, arch nvrtc.Arch) ([]byte, error) {
	for _, m := range d {
		if m.Name != s.Name {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, ".version 7.0\n.target sm_%d\n", arch)
		for _, k := range m.Kernels {
			fmt.Fprintf(&b, ".visible .entry %s(%s)\n", k.Name, strings.Repeat(".param .u64 a,", len(k.Params)))
		}
		return []byte(b.String()), nil
	}
	return nil, fmt.Errorf("%s: %w", s.Name, driver.ErrNotFound)
}
