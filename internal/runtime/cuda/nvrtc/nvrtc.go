package nvrtc

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// Source is a program in CUDA C++ without #include.
type Source struct {
	Name string // for messages
	Text string
}

// Arch is a virtual architecture: 80 for compute_80. Its PTX runs on GPUs of that compute capability and newer ones.
type Arch int

// Compiler compiles programs to PTX.
type Compiler interface {
	// Version returns 1000*major + 10*minor of the compiler's CUDA version. It is part of a cache's key.
	Version() int
	// Compile returns PTX text. If a program does not compile, the error is a *CompileError. ctx does not interrupt a
	// compilation that has begun.
	Compile(ctx context.Context, s Source, arch Arch) ([]byte, error)
}

// CompileError has the compiler's log.
type CompileError struct {
	Name string
	Arch Arch
	Log  string
}

// Error implements error.
func (e *CompileError) Error() string {
	return fmt.Sprintf("compile %s for sm_%d: the CUDA compiler refused it:\n%s", e.Name, e.Arch, e.Log)
}

type nvrtc struct {
	version                             int
	versionOf, create, compile, destroy dylib.Proc
	ptxSize, ptx, logSize, log          dylib.Proc
	slots                               chan struct{} // a few compilations at a time: they take much memory
}

// Open loads libnvrtc, looking in the given directories first.
func Open(first ...string) (Compiler, error) {
	lib, err := dylib.Open(dylib.NVRTC, first...)
	if err != nil {
		return nil, fmt.Errorf("the CUDA compiler: %w", err)
	}
	n := &nvrtc{slots: make(chan struct{}, min(4, runtime.GOMAXPROCS(0)))}
	if err := lib.Bind(map[string]*dylib.Proc{"nvrtcVersion": &n.versionOf, "nvrtcCreateProgram": &n.create, "nvrtcCompileProgram": &n.compile,
		"nvrtcDestroyProgram": &n.destroy, "nvrtcGetPTXSize": &n.ptxSize, "nvrtcGetPTX": &n.ptx,
		"nvrtcGetProgramLogSize": &n.logSize, "nvrtcGetProgramLog": &n.log}); err != nil {
		return nil, fmt.Errorf("the CUDA compiler: %w", err)
	}
	major, minor := new(int32), new(int32)
	if err := n.check("nvrtcVersion", n.versionOf.Call(uintptr(unsafe.Pointer(major)), uintptr(unsafe.Pointer(minor)))); err != nil {
		return nil, err
	}
	n.version = int(*major)*1000 + int(*minor)*10
	return n, nil
}

// Version implements Compiler.
func (n *nvrtc) Version() int { return n.version }

// Compile implements Compiler.
func (n *nvrtc) Compile(ctx context.Context, s Source, arch Arch) ([]byte, error) {
	if strings.ContainsRune(s.Text+s.Name, 0) {
		return nil, fmt.Errorf("compile %q: the source contains a zero byte", s.Name)
	}
	n.slots <- struct{}{}
	defer func() { <-n.slots }()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compile %s: %w", s.Name, err)
	}
	program, text, name := new(uintptr), terminated(s.Text), terminated(s.Name+".cu")
	if err := n.check("nvrtcCreateProgram", n.create.Call(uintptr(unsafe.Pointer(program)), uintptr(unsafe.Pointer(text)),
		uintptr(unsafe.Pointer(name)), 0, 0, 0)); err != nil {
		return nil, err
	}
	defer n.destroy.Call(uintptr(unsafe.Pointer(program)))
	options := []*byte{terminated(fmt.Sprintf("--gpu-architecture=compute_%d", arch)), terminated("--std=c++17")}
	failed := n.check("nvrtcCompileProgram", n.compile.Call(*program, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0]))))
	if failed != nil {
		log, err := n.text("nvrtcGetProgramLog", n.logSize, n.log, *program)
		if err != nil || len(log) == 0 {
			return nil, fmt.Errorf("compile %s for sm_%d: %w", s.Name, arch, failed)
		}
		return nil, &CompileError{Name: s.Name, Arch: arch, Log: strings.TrimSpace(string(log))}
	}
	return n.text("nvrtcGetPTX", n.ptxSize, n.ptx, *program)
}

// text fetches a text from the library, with a function for its size and one for its bytes, without the final zero.
func (n *nvrtc) text(call string, sizeOf, get dylib.Proc, program uintptr) ([]byte, error) {
	size := new(uint64)
	if err := n.check(call+"Size", sizeOf.Call(program, uintptr(unsafe.Pointer(size)))); err != nil || *size == 0 {
		return nil, err
	}
	out := make([]byte, *size)
	if err := n.check(call, get.Call(program, uintptr(unsafe.Pointer(&out[0])))); err != nil {
		return nil, err
	}
	return out[:len(out)-1], nil
}

// statusNames are nvrtcResult, from 0 on.
var statusNames = []string{"success", "out of memory", "program creation failed", "invalid input", "invalid program", "invalid option",
	"compilation failed", "builtin operation failed: libnvrtc-builtins must lie beside libnvrtc"}

func (n *nvrtc) check(call string, result uintptr) error {
	code := int(int32(result))
	switch {
	case code == 0:
		return nil
	case code > 0 && code < len(statusNames):
		return fmt.Errorf("%s: %s", call, statusNames[code])
	}
	return fmt.Errorf("%s: error %d", call, code)
}

func terminated(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
