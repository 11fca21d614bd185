package emulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// Machine compiles any CUDA C++ for the processor and registers its kernels with a fake driver. It is an nvrtc.Compiler for
// a cuda.Device on that driver. It keeps compiled libraries in a folder, by content, for the next process.
type Machine struct {
	d     *fake.Driver
	dir   string
	slots chan struct{} // a few compilations at a time
}

// Default returns the folder in the user's cache directory, "" if there is none.
func Default() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "goestimator", "emulated")
}

// NewMachine returns the compiler for a driver. It fails with exec.ErrNotFound if there is no C++ compiler.
func NewMachine(d *fake.Driver, dir string) (*Machine, error) {
	if _, err := exec.LookPath(Compiler); err != nil {
		return nil, fmt.Errorf("emulate CUDA: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("emulate CUDA: %w", err)
	}
	return &Machine{d: d, dir: dir, slots: make(chan struct{}, 2)}, nil
}

// Version returns the fake driver's version.
func (m *Machine) Version() int { return 12040 }

// Compile registers a program's kernels and returns their declarations.
func (m *Machine) Compile(ctx context.Context, s nvrtc.Source, arch nvrtc.Arch) ([]byte, error) {
	sum := sha256.Sum256([]byte(header + os.Getenv(FlagsVariable) + s.Text))
	name := "libemulated_" + hex.EncodeToString(sum[:12]) + ".so"
	known, err := os.ReadFile(listOf(filepath.Join(m.dir, name)))
	if errors.Is(err, os.ErrNotExist) {
		m.slots <- struct{}{}
		known, err = m.compile(ctx, s, name)
		<-m.slots
	}
	if err != nil {
		return nil, fmt.Errorf("emulate %s: %w", s.Name, err)
	}
	module := kernels.Module{Name: s.Name}
	for _, line := range strings.Fields(string(known)) {
		kernel, params, _ := strings.Cut(line, ":")
		module.Kernels = append(module.Kernels, kernels.Kernel{Name: kernel, Params: params})
	}
	if err := register(m.d, module, dylib.Name(name), m.dir); err != nil {
		return nil, fmt.Errorf("emulate %s: %w", s.Name, err)
	}
	return Declared{module}.Compile(ctx, s, arch)
}

// compile makes the library and the list of its kernels, with a line for each: the name, and a letter for each argument.
func (m *Machine) compile(ctx context.Context, s nvrtc.Source, name string) ([]byte, error) {
	tmp, err := os.MkdirTemp(m.dir, "build")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	module := kernels.Module{Name: s.Name, Text: s.Text}
	if module.Kernels, err = declarations(ctx, s.Text); err != nil {
		return nil, err
	}
	lib := filepath.Join(tmp, name)
	if err := build(ctx, module, lib); err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, k := range module.Kernels {
		fmt.Fprintf(&b, "%s:%s\n", k.Name, k.Params)
	}
	list := listOf(lib)
	if err := os.WriteFile(list, []byte(b.String()), 0o644); err != nil {
		return nil, err
	}
	err = os.Rename(lib, filepath.Join(m.dir, name))
	if err == nil {
		err = os.Rename(list, listOf(filepath.Join(m.dir, name))) // last, so that where the list exists, the library does
	}
	return []byte(b.String()), err
}

// listOf returns the file beside a library with the list of its kernels.
func listOf(lib string) string { return strings.TrimSuffix(lib, ".so") + ".kernels" }

var declaration = regexp.MustCompile(`extern "C" __global__ void\s+(\w+)\s*\(([^)]*)\)`)

// declarations finds the kernels of a program after macro expansion. Arguments are pointers (p) or not (l).
func declarations(ctx context.Context, text string) ([]kernels.Kernel, error) {
	cmd := exec.CommandContext(ctx, Compiler, "-E", "-P", "-D__launch_bounds__(...)=", "-x", "c++", "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("preprocess: %w", err)
	}
	var all []kernels.Kernel
	for _, f := range declaration.FindAllStringSubmatch(string(out), -1) {
		k := kernels.Kernel{Name: f[1]}
		for _, p := range strings.Split(f[2], ",") {
			switch {
			case strings.TrimSpace(p) == "":
			case strings.Contains(p, "*"):
				k.Params += "p"
			default:
				k.Params += "l"
			}
		}
		all = append(all, k)
	}
	return all, nil
}

// running has a lock for each library, which runs one block at a time, for all drivers.
var running sync.Map
