package libcuda

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const (
	jitErrorLog     = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogSize = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
	jitLogBytes     = 8 << 10
	maxDynamic      = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
)

type module struct {
	c      *context
	handle uintptr
}

// Load translates PTX, or takes a cubin. The error for broken PTX contains the translator's log.
func (c *context) Load(image []byte) (driver.Module, error) {
	h, text := new(uintptr), zeroTerminated(image)
	log := make([]byte, jitLogBytes)
	options := [2]int32{jitErrorLog, jitErrorLogSize}
	values := struct {
		log  unsafe.Pointer
		size uintptr
	}{unsafe.Pointer(&log[0]), uintptr(len(log))}
	err := c.do("cuModuleLoadDataEx", c.moduleLoad, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(text)), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
	if err != nil {
		log[len(log)-1] = 0
		return nil, fmt.Errorf("load a module: %w\n%s", err, cString(unsafe.Pointer(&log[0])))
	}
	return &module{c, *h}, nil
}

// Function looks a kernel up.
func (m *module) Function(name string) (driver.Function, error) {
	h, text := new(uintptr), zeroTerminated(name)
	err := m.c.do("cuModuleGetFunction", m.c.moduleFunction, uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &function{m.c, *h, name}, nil
}

// Close unloads the module.
func (m *module) Close() error { return m.c.do("cuModuleUnload", m.c.moduleUnload, m.handle) }

type function struct {
	c      *context
	handle uintptr
	name   string
}

// AllowShared raises the limit of dynamic shared memory.
func (f *function) AllowShared(bytes int) error {
	if err := f.c.do("cuFuncSetAttribute", f.c.functionSet, f.handle, maxDynamic, uintptr(bytes)); err != nil {
		return fmt.Errorf("%s: %d bytes of shared memory: %w", f.name, bytes, err)
	}
	return nil
}
