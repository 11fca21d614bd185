package fake

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// module is what a PTX text declares.
type module struct {
	c       *Context
	entries map[string]int // arguments by name of kernel
	closed  bool
}

var (
	entryPattern = regexp.MustCompile(`\.entry\s+([A-Za-z_$][\w$]*)\s*(?:\(([^)]*)\))?`)
	staticShared = 48 << 10 // the limit of a launch without AllowShared
)

// Load reads the entries of a PTX text.
func (c *Context) Load(image []byte) (driver.Module, error) {
	if err := c.enter("Load"); err != nil {
		return nil, err
	}
	text := string(image)
	if !strings.Contains(text, ".version") || !strings.Contains(text, ".target") {
		return nil, failed("Load", driver.CodeInvalidPTX, "no .version or .target")
	}
	m := &module{c: c, entries: map[string]int{}}
	for _, e := range entryPattern.FindAllStringSubmatch(text, -1) {
		m.entries[e[1]] = strings.Count(e[2], ".param")
	}
	c.count("module", +1)
	return m, nil
}

// Function finds an entry of the PTX for which a kernel is registered.
func (m *module) Function(name string) (driver.Function, error) {
	if err := m.c.enter("Function"); err != nil {
		return nil, err
	}
	args, ok := m.entries[name]
	if !ok || m.closed {
		return nil, failed("Function", driver.CodeNotFound, fmt.Sprintf("%q is not in the module", name))
	}
	return &function{m: m, name: name, args: args, shared: staticShared}, nil
}

// Close closes the module.
func (m *module) Close() error {
	if m.closed {
		return failed("CloseModule", driver.CodeInvalidHandle, "closed before")
	}
	m.closed = true
	m.c.count("module", -1)
	return nil
}

type function struct {
	m      *module
	name   string
	args   int
	shared int
}

// AllowShared raises the limit of dynamic shared memory.
func (f *function) AllowShared(bytes int) error {
	if bytes > f.m.c.info.SharedPerBlock {
		return failed("AllowShared", driver.CodeInvalidValue, fmt.Sprintf("%d bytes of %d", bytes, f.m.c.info.SharedPerBlock))
	}
	f.shared = max(bytes, staticShared)
	return nil
}

// Call is a launch as a kernel sees it.
type Call struct {
	driver.Launch
	c       *Context
	touched []*block
}

// Memory returns the bytes from the address in argument i to the end of its allocation.
func (c *Call) Memory(i int) ([]byte, error) {
	if i < 0 || i >= len(c.Args) {
		return nil, failed("Kernel", driver.CodeLaunchFailed, fmt.Sprintf("argument %d of %d", i, len(c.Args)))
	}
	mem, b, ok := c.c.window(driver.Ptr(c.Args[i]), -1)
	if !ok {
		return nil, failed("Kernel", driver.CodeIllegalAddress, fmt.Sprintf("argument %d: %#x is no memory", i, uint64(c.Args[i])))
	}
	c.touched = append(c.touched, b)
	return mem, nil
}

// Launch runs the kernel registered under the function's name.
func (s *Stream) Launch(f driver.Function, l driver.Launch) error {
	if err := s.c.enter("Launch"); err != nil {
		return err
	}
	fn, ok := f.(*function)
	if !ok || fn.m.c != s.c || fn.m.closed {
		return failed("Launch", driver.CodeInvalidHandle, "the function is of another context, or its module is closed")
	}
	if err := l.Check(); err != nil {
		return fmt.Errorf("%s: %w", fn.name, err)
	}
	kernel := s.c.d.kernel(fn.name)
	switch {
	case len(l.Args) != fn.args:
		return failed("Launch", driver.CodeInvalidValue, fmt.Sprintf("%s takes %d arguments, got %d", fn.name, fn.args, len(l.Args)))
	case l.Shared > fn.shared:
		return failed("Launch", driver.CodeInvalidValue, fmt.Sprintf("%s: %d bytes of shared memory, at most %d are allowed", fn.name, l.Shared, fn.shared))
	case kernel == nil:
		return failed("Launch", driver.CodeNotFound, fmt.Sprintf("no Go function is registered for %q", fn.name))
	}
	l.Args = slices.Clone(l.Args)
	return s.issue("Launch", s.useful(func() error {
		if err := s.c.d.fault("Kernel"); err != nil {
			return err
		}
		call := &Call{Launch: l, c: s.c}
		if err := kernel(call); err != nil {
			return fmt.Errorf("%s: %w", fn.name, err)
		}
		for _, b := range call.touched {
			if err := b.guard(); err != nil {
				return fmt.Errorf("%s: %w", fn.name, err)
			}
		}
		return nil
	}))
}
