//go:build linux && (amd64 || arm64) && !static

package cudnn

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// fakeLibrary is cuDNN in Go with C's calling convention. It checks descriptors by cuDNN's rules, and computes executed plans in
// the fake GPU's memory with the host's kernels, from the descriptors alone.
type fakeLibrary struct {
	t       *testing.T
	current bool // the context is current
	streams map[uintptr]driver.Stream
	run     driver.Function // fake_cudnn

	// offers returns the heuristics' proposals for a graph, by mode.
	offers func(g fakeGraph, mode int) []fakeEngine

	mu      sync.Mutex
	objects map[uintptr]*fakeObject
	graphs  map[*fakeObject]fakeGraph // by engine configuration
	next    uintptr
	handle  uintptr
	stream  uintptr
	jobs    []fakeJob
	asked   int    // heuristics
	text    string // text of the last error
	wrong   []string
}

// fakeEngine is an engine that the heuristics propose.
type fakeEngine struct {
	notes     []int32
	workspace int64
	refuses   bool // to be made a plan
}

type fakeObject struct {
	kind      int
	finalized bool
	attrs     map[int]attribute
	engine    fakeEngine // the engine of a configuration, an engine, or a plan
}

const (
	badParam     = 2000
	notFinalized = 2004
)

// sizes of elements by type of attribute.
var fakeSizes = map[int]int{typeHandle: 8, typeDataType: 4, typeBoolean: 1, typeInt64: 8, typeFloat: 4, typePointer: 8, typeConvolutionMode: 4,
	typeHeuristicMode: 4, typeNumericalNote: 4, typePointwiseMode: 4, typeDescriptor: 8}

// procs returns the functions as in the real library.
func (f *fakeLibrary) procs() *procs {
	fn := func(v any) dylib.Proc { return dylib.Proc(purego.NewCallback(v)) }
	name := append([]byte("CUDNN_STATUS_FAKE"), 0)
	return &procs{
		getVersion:        fn(func() uintptr { return 90100 }),
		errorString:       fn(func(uintptr) uintptr { return uintptr(unsafe.Pointer(&name[0])) }),
		lastError:         fn(func(to unsafe.Pointer, n uintptr) uintptr { copy(unsafe.Slice((*byte)(to), n), f.text); return 0 }),
		create:            fn(f.createHandle),
		destroy:           fn(func(h uintptr) uintptr { return f.status(h == f.handle, "handle") }),
		setStream:         fn(f.setStream),
		createDescriptor:  fn(f.createDescriptor),
		destroyDescriptor: fn(f.destroyDescriptor),
		setAttribute:      fn(f.setAttribute),
		getAttribute:      fn(f.getAttribute),
		finalize:          fn(f.finalize),
		run:               fn(f.execute),
	}
}

// status records a violation of the rules.
func (f *fakeLibrary) status(ok bool, format string, args ...any) uintptr {
	if ok {
		return statusSuccess
	}
	f.text = fmt.Sprintf(format, args...)
	f.wrong = append(f.wrong, f.text)
	return badParam
}

func (f *fakeLibrary) createHandle(to *uintptr) uintptr {
	f.handle = 0x1234
	*to = f.handle
	return f.status(f.current, "cudnnCreate without a context")
}

func (f *fakeLibrary) setStream(h, stream uintptr) uintptr {
	f.stream = stream
	return f.status(h == f.handle && f.streams[stream] != nil && f.current, "cudnnSetStream(%#x, %#x), context %v", h, stream, f.current)
}

func (f *fakeLibrary) createDescriptor(kind uintptr, to *uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next += 16
	f.objects[f.next] = &fakeObject{kind: int(int32(kind)), attrs: map[int]attribute{}}
	*to = f.next
	return f.status(f.current, "a descriptor without a context")
}

func (f *fakeLibrary) destroyDescriptor(d uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	ok := f.objects[d] != nil
	delete(f.objects, d)
	return f.status(ok, "%#x was destroyed before", d)
}

func (f *fakeLibrary) setAttribute(d, name, typ, n uintptr, data unsafe.Pointer) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, size := f.objects[d], fakeSizes[int(typ)]
	if o == nil || o.finalized || size == 0 || n == 0 {
		return f.status(false, "attribute %d of type %d, %d times, of %+v", name, typ, n, o)
	}
	o.attrs[int(name)] = attribute{int(name), int(typ), int(n), append([]byte(nil), unsafe.Slice((*byte)(data), int(n)*size)...)}
	return statusSuccess
}

func (f *fakeLibrary) getAttribute(d, name, typ, n uintptr, count *int64, data unsafe.Pointer) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.objects[d]
	if o == nil || !o.finalized {
		return f.status(false, "attribute %d of %+v is read", name, o)
	}
	switch {
	case o.kind == kindHeuristic && name == heuristicResults && typ == typeDescriptor:
		f.asked++
		offers := f.offers(f.graphOf(o.descriptor(heuristicGraph)), int(o.number(heuristicMode)))
		*count = int64(len(offers))
		for i, to := range unsafe.Slice((*uintptr)(data), n)[:min(len(offers), int(n))] {
			c := f.objects[to]
			if c == nil || c.kind != kindEngineConfig {
				return f.status(false, "result %d of the heuristics: %+v", i, c)
			}
			c.engine, c.finalized = offers[i], true
			f.graphs[c] = f.graphOf(o.descriptor(heuristicGraph))
		}
	case o.kind == kindEngineConfig && name == configEngine && typ == typeDescriptor && n == 1:
		*count = 1
		e := f.objects[*(*uintptr)(data)]
		e.engine, e.finalized = o.engine, true
	case o.kind == kindEngine && name == engineNotes && typ == typeNumericalNote:
		*count = int64(copy(unsafe.Slice((*int32)(data), n), o.engine.notes))
	case o.kind == kindPlan && name == planWorkspace && typ == typeInt64 && n == 1:
		*count = 1
		*(*int64)(data) = o.engine.workspace
	default:
		return f.status(false, "attribute %d of type %d of kind %d is read", name, typ, o.kind)
	}
	return statusSuccess
}

// required are a kind's attributes with type and number; 0 elements: any.
var required = map[int]map[int][2]int{
	kindTensor:         {tensorDataType: {typeDataType, 1}, tensorDims: {typeInt64, 4}, tensorStrides: {typeInt64, 4}, tensorID: {typeInt64, 1}, tensorAlignment: {typeInt64, 1}, tensorVirtual: {typeBoolean, 1}},
	kindConvolution:    {convolutionCompute: {typeDataType, 1}, convolutionMode: {typeConvolutionMode, 1}, convolutionDilations: {typeInt64, 2}, convolutionStrides: {typeInt64, 2}, convolutionPre: {typeInt64, 2}, convolutionPost: {typeInt64, 2}, convolutionDims: {typeInt64, 1}},
	kindForward:        {forwardConv: {typeDescriptor, 1}, forwardW: {typeDescriptor, 1}, forwardX: {typeDescriptor, 1}, forwardY: {typeDescriptor, 1}, forwardAlpha: {typeFloat, 1}, forwardBeta: {typeFloat, 1}},
	kindInputGradient:  {inputConv: {typeDescriptor, 1}, inputW: {typeDescriptor, 1}, inputDX: {typeDescriptor, 1}, inputDY: {typeDescriptor, 1}, inputAlpha: {typeFloat, 1}, inputBeta: {typeFloat, 1}},
	kindFilterGradient: {filterConv: {typeDescriptor, 1}, filterDW: {typeDescriptor, 1}, filterX: {typeDescriptor, 1}, filterDY: {typeDescriptor, 1}, filterAlpha: {typeFloat, 1}, filterBeta: {typeFloat, 1}},
	kindPointwise:      {pointwiseMode: {typePointwiseMode, 1}, pointwisePrecision: {typeDataType, 1}},
	kindPointwiseOp:    {pointwiseDescriptor: {typeDescriptor, 1}, pointwiseX: {typeDescriptor, 1}, pointwiseY: {typeDescriptor, 1}},
	kindGraph:          {graphHandle: {typeHandle, 1}, graphOps: {typeDescriptor, 0}},
	kindHeuristic:      {heuristicGraph: {typeDescriptor, 1}, heuristicMode: {typeHeuristicMode, 1}},
	kindPlan:           {planHandle: {typeHandle, 1}, planConfig: {typeDescriptor, 1}},
	kindVariantPack:    {packIDs: {typeInt64, 0}, packPointers: {typePointer, 0}, packWorkspace: {typePointer, 1}},
}

func (f *fakeLibrary) finalize(d uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.objects[d]
	if o == nil || o.finalized || required[o.kind] == nil {
		return f.status(false, "%+v is finalized", o)
	}
	for name, want := range required[o.kind] {
		a, ok := o.attrs[name]
		if !ok || a.typ != want[0] || want[1] != 0 && a.n != want[1] {
			return f.status(false, "kind %d: attribute %d: expected %v, got %+v", o.kind, name, want, a)
		}
	}
	for name, a := range o.attrs {
		for i := range a.n {
			if a.typ == typeDescriptor && (f.objects[a.pointer(i)] == nil || !f.objects[a.pointer(i)].finalized) {
				f.status(false, "kind %d: attribute %d is not finalized", o.kind, name)
				return notFinalized
			}
		}
	}
	o.finalized = true
	if o.kind == kindPlan {
		o.engine = f.objects[o.descriptor(planConfig)].engine
		if o.engine.refuses {
			return statusNotSupported
		}
	}
	if o.kind == kindGraph {
		return f.checkGraph(f.graphOf(d), o)
	}
	return statusSuccess
}

func (a attribute) pointer(i int) uintptr { return uintptr(binary.NativeEndian.Uint64(a.bytes[8*i:])) }
func (a attribute) int64(i int) int       { return int(int64(binary.NativeEndian.Uint64(a.bytes[8*i:]))) }
func (o *fakeObject) descriptor(name int) uintptr {
	if o.attrs[name].n == 0 {
		return 0
	}
	return o.attrs[name].pointer(0)
}
func (o *fakeObject) number(name int) int {
	return int(int32(binary.NativeEndian.Uint32(o.attrs[name].bytes)))
}
