//go:build cu

package gorgoniacu

/*
#cgo LDFLAGS: -lcuda
#include <cuda.h>

static CUresult instantiate(CUgraphExec *exec, CUgraph graph) { return cuGraphInstantiateWithFlags(exec, graph, 0); }
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

// The handles of gorgonia.org/cu are structs of one C pointer each.
func streamOf(s cu.Stream) C.CUstream       { return *(*C.CUstream)(unsafe.Pointer(&s)) }
func functionOf(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }

// check turns a result of C into a driver.Error.
func check(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	var name, text *C.char
	C.cuGetErrorName(r, &name)
	C.cuGetErrorString(r, &text)
	return &driver.Error{Call: call, Code: driver.Code(r), Name: C.GoString(name), Text: C.GoString(text)}
}

// wrap turns an error of gorgonia.org/cu, a number of an unexported type, into a driver.Error.
func wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return check(call, C.CUresult(v.Int()))
	}
	return fmt.Errorf("%s: %w", call, err)
}

func hostAlloc(n int) (p unsafe.Pointer, err error) {
	err = check("cuMemHostAlloc", C.cuMemHostAlloc(&p, C.size_t(n), C.CU_MEMHOSTALLOC_PORTABLE))
	return p, err
}

func allowShared(f cu.Function, n int) error {
	return check("cuFuncSetAttribute", C.cuFuncSetAttribute(functionOf(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(n)))
}

func beginCapture(s cu.Stream) error {
	return check("cuStreamBeginCapture", C.cuStreamBeginCapture(streamOf(s), C.CU_STREAM_CAPTURE_MODE_RELAXED))
}

// endCapture makes an executable graph of the captured work, unless drop is set.
func endCapture(s cu.Stream, drop bool) (x exec, err error) {
	var g C.CUgraph
	err = check("cuStreamEndCapture", C.cuStreamEndCapture(streamOf(s), &g))
	if g != nil {
		defer C.cuGraphDestroy(g)
	}
	if err != nil || drop {
		return nil, err
	}
	err = check("cuGraphInstantiate", C.instantiate(&x, g))
	return x, err
}

func launchGraph(g exec, s cu.Stream) error {
	return check("cuGraphLaunch", C.cuGraphLaunch(g, streamOf(s)))
}

func closeGraph(g exec) error {
	return check("cuGraphExecDestroy", C.cuGraphExecDestroy(g))
}

func driverVersion() (int, error) {
	var v C.int
	err := check("cuDriverGetVersion", C.cuDriverGetVersion(&v))
	return int(v), err
}

// exec names the C type for the other files.
type exec = C.CUgraphExec
