package cudnn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// procs are the library's functions in use.
type procs struct {
	getVersion, errorString, lastError   dylib.Proc
	create, destroy, setStream           dylib.Proc
	createDescriptor, destroyDescriptor  dylib.Proc
	setAttribute, getAttribute, finalize dylib.Proc
	run                                  dylib.Proc
}

func (p *procs) symbols() map[string]*dylib.Proc {
	return map[string]*dylib.Proc{"cudnnGetVersion": &p.getVersion, "cudnnGetErrorString": &p.errorString, "cudnnGetLastErrorString": &p.lastError,
		"cudnnCreate": &p.create, "cudnnDestroy": &p.destroy, "cudnnSetStream": &p.setStream,
		"cudnnBackendCreateDescriptor": &p.createDescriptor, "cudnnBackendDestroyDescriptor": &p.destroyDescriptor,
		"cudnnBackendSetAttribute": &p.setAttribute, "cudnnBackendGetAttribute": &p.getAttribute, "cudnnBackendFinalize": &p.finalize,
		"cudnnBackendExecute": &p.run}
}

// load finds the library and its functions.
func load(first ...string) (*procs, error) {
	lib, err := dylib.Open(dylib.CuDNN, first...)
	if err != nil {
		return nil, fmt.Errorf("cuDNN: %w", err)
	}
	p := &procs{}
	if err := lib.Bind(p.symbols()); err != nil {
		return nil, tooOld(lib.Path(), err)
	}
	if v := int(p.getVersion.Call()); v < version {
		return nil, tooOld(lib.Path(), fmt.Errorf("version %d, expected %d or newer: install cuDNN 9", v, version))
	}
	return p, nil
}

// tooOld returns the error for a library that is too old: for callers, as if there were none.
func tooOld(path string, err error) error {
	return fmt.Errorf("cuDNN: %s: %w: %w", path, err, &dylib.NotFoundError{Name: dylib.CuDNN, Looked: []string{filepath.Dir(path)}})
}

// native is cuDNN with a handle. The caller sets the GPU's context, and makes one call at a time.
type native struct {
	*procs
	handle uintptr
}

func newNative(p *procs) (*native, error) {
	h := new(uintptr)
	if err := p.check("cudnnCreate", p.create.Call(uintptr(unsafe.Pointer(h)))); err != nil {
		return nil, err
	}
	return &native{p, *h}, nil
}

func (n *native) close() error { return n.check("cudnnDestroy", n.procs.destroy.Call(n.handle)) }

// check turns a status into an error.
func (p *procs) check(call string, status uintptr) error {
	code := int(int32(status))
	if code == statusSuccess {
		return nil
	}
	text := make([]byte, 512)
	p.lastError.Call(uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	return &Error{Call: call, Status: code, Name: cString(p.errorString.Call(uintptr(code))), Text: zeroTerminated(text)}
}

func zeroTerminated(text []byte) string {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	return string(bytes.TrimSpace(text))
}

// cString copies a string of the library's own memory.
func cString(address uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	if p == nil {
		return "unknown status"
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// create makes a descriptor and finalizes it.
func (n *native) create(kind int, attributes ...attribute) (descriptor, error) {
	d, err := n.new(kind)
	if err != nil {
		return 0, err
	}
	for _, a := range attributes {
		if err = n.set(d, a); err != nil {
			break
		}
	}
	if err == nil {
		err = n.check("cudnnBackendFinalize", n.finalize.Call(uintptr(d)))
	}
	if err != nil {
		n.destroy(d)
		return 0, fmt.Errorf("descriptor of kind %d: %w", kind, err)
	}
	return d, nil
}

func (n *native) new(kind int) (descriptor, error) {
	d := new(descriptor)
	err := n.check("cudnnBackendCreateDescriptor", n.createDescriptor.Call(uintptr(kind), uintptr(unsafe.Pointer(d))))
	return *d, err
}

func (n *native) set(d descriptor, a attribute) error {
	err := n.check("cudnnBackendSetAttribute", n.setAttribute.Call(uintptr(d), uintptr(a.name), uintptr(a.typ), uintptr(a.n), uintptr(unsafe.Pointer(unsafe.SliceData(a.bytes)))))
	if err != nil {
		return fmt.Errorf("attribute %d: %w", a.name, err)
	}
	return nil
}

// destroy destroys a descriptor. An error of the library changes nothing.
func (n *native) destroy(d descriptor) { n.destroyDescriptor.Call(uintptr(d)) }

// numbers reads up to most integers of a type with the given size in bytes, 4 or 8.
func (n *native) numbers(d descriptor, name, typ, size, most int) ([]int64, error) {
	count, out := new(int64), make([]byte, size*most)
	if err := n.check("cudnnBackendGetAttribute", n.getAttribute.Call(uintptr(d), uintptr(name), uintptr(typ), uintptr(most),
		uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&out[0])))); err != nil {
		return nil, fmt.Errorf("attribute %d: %w", name, err)
	}
	v := make([]int64, max(0, min(int(*count), most)))
	for i := range v {
		if size == 4 {
			v[i] = int64(int32(binary.NativeEndian.Uint32(out[4*i:])))
		} else {
			v[i] = int64(binary.NativeEndian.Uint64(out[8*i:]))
		}
	}
	return v, nil
}

// children reads up to most descriptors of a kind. The library fills in the ones passed to it.
func (n *native) children(d descriptor, name, kind, most int) (found []descriptor, err error) {
	all := make([]descriptor, 0, most)
	defer func() {
		for _, c := range all[len(found):] {
			n.destroy(c)
		}
	}()
	for range most {
		c, err := n.new(kind)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	count := new(int64)
	if err := n.check("cudnnBackendGetAttribute", n.getAttribute.Call(uintptr(d), uintptr(name), typeDescriptor, uintptr(most),
		uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&all[0])))); err != nil {
		return nil, fmt.Errorf("attribute %d: %w", name, err)
	}
	return all[:max(0, min(int(*count), most))], nil
}

// execute issues a plan to the stream with the given handle.
func (n *native) execute(plan, pack descriptor, stream uintptr) error {
	if err := n.check("cudnnSetStream", n.setStream.Call(n.handle, stream)); err != nil {
		return err
	}
	return n.check("cudnnBackendExecute", n.run.Call(n.handle, uintptr(plan), uintptr(pack)))
}

// unsupported reports whether an engine cannot do a problem. Other errors concern the library as a whole.
func unsupported(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status >= 2000 && e.Status < statusInternalError+1000
}
