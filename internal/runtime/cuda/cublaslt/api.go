package cublaslt

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// object is a kind of cuBLASLt's host objects.
type object int

const (
	operation  object = iota // cublasLtMatmulDesc_t
	layout                   // cublasLtMatrixLayout_t
	preference               // cublasLtMatmulPreference_t
	objects
)

// handle is an object.
type handle uintptr

// calls is the part of cuBLASLt in use.
type calls interface {
	// create makes an object. Its arguments depend on the kind.
	create(o object, args ...uintptr) (handle, error)
	// set gives an object's attribute a value.
	set(o object, h handle, attribute int, value []byte) error
	destroy(o object, h handle) error
	// heuristic lists algorithms, the most promising first.
	heuristic(q query) ([]candidate, error)
	matmul(r request) error
}

// query is the product for which the heuristic proposes algorithms.
type query struct {
	operation, a, b, d, preference handle
}

// algorithm is cublasLtMatmulAlgo_t.
type algorithm [8]uint64

// candidate is cublasLtMatmulHeuristicResult_t.
type candidate struct {
	algorithm algorithm
	workspace uint64
	state     int32
	_         float32 // waves
	_         [4]int32
}

// request is a product to launch: D = op(A)·op(B), all stored by columns.
type request struct {
	operation, a, b, d handle
	atA, atB, atD      uintptr
	scales             *scales
	algorithm          *algorithm
	workspace          uintptr
	workspaceBytes     int
	stream             uintptr
}

// scales are alpha = 1 and beta = 0 in the operation's type.
type scales struct{ alpha, beta [8]byte }

// native calls the library. Its calls are made with a GPU's context current.
type native struct {
	handle                           uintptr
	createLibrary, destroyLibrary    dylib.Proc
	version, choose, multiply        dylib.Proc
	makeObject, setObject, endObject [objects]dylib.Proc
}

func (n *native) symbols() map[string]*dylib.Proc {
	return map[string]*dylib.Proc{
		"cublasLtCreate": &n.createLibrary, "cublasLtDestroy": &n.destroyLibrary, "cublasLtGetVersion": &n.version,
		"cublasLtMatmulDescCreate": &n.makeObject[operation], "cublasLtMatrixLayoutCreate": &n.makeObject[layout],
		"cublasLtMatmulPreferenceCreate": &n.makeObject[preference],
		"cublasLtMatmulDescSetAttribute": &n.setObject[operation], "cublasLtMatrixLayoutSetAttribute": &n.setObject[layout],
		"cublasLtMatmulPreferenceSetAttribute": &n.setObject[preference],
		"cublasLtMatmulDescDestroy":            &n.endObject[operation], "cublasLtMatrixLayoutDestroy": &n.endObject[layout],
		"cublasLtMatmulPreferenceDestroy": &n.endObject[preference],
		"cublasLtMatmulAlgoGetHeuristic":  &n.choose, "cublasLtMatmul": &n.multiply,
	}
}

// bind loads the library, without starting it.
func bind(folders ...string) (*native, error) {
	lib, err := dylib.Open(dylib.CuBLASLt, folders...)
	if err != nil {
		return nil, err
	}
	n := &native{}
	return n, lib.Bind(n.symbols())
}

func (n *native) start() error {
	h := new(uintptr)
	err := check("cublasLtCreate", n.createLibrary.Call(uintptr(unsafe.Pointer(h))))
	n.handle = *h
	return err
}

func (n *native) close() error { return check("cublasLtDestroy", n.destroyLibrary.Call(n.handle)) }

func (n *native) create(o object, args ...uintptr) (handle, error) {
	h, four := new(uintptr), [4]uintptr{}
	copy(four[:], args)
	err := check("cublasLt create", n.makeObject[o].Call(uintptr(unsafe.Pointer(h)), four[0], four[1], four[2], four[3]))
	return handle(*h), err
}

func (n *native) set(o object, h handle, attribute int, value []byte) error {
	if err := check("cublasLt set attribute", n.setObject[o].Call(uintptr(h), uintptr(attribute), uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(len(value)))); err != nil {
		return fmt.Errorf("attribute %d: %w", attribute, err)
	}
	return nil
}

func (n *native) destroy(o object, h handle) error {
	return check("cublasLt destroy", n.endObject[o].Call(uintptr(h)))
}

func (n *native) heuristic(q query) ([]candidate, error) {
	found, count := make([]candidate, maxCandidates), new(int32)
	err := check("cublasLtMatmulAlgoGetHeuristic", n.choose.Call(n.handle, uintptr(q.operation), uintptr(q.a), uintptr(q.b), uintptr(q.d), uintptr(q.d),
		uintptr(q.preference), maxCandidates, uintptr(unsafe.Pointer(&found[0])), uintptr(unsafe.Pointer(count))))
	return found[:min(max(int(*count), 0), maxCandidates)], err
}

func (n *native) matmul(r request) error {
	return check("cublasLtMatmul", n.multiply.Call(n.handle, uintptr(r.operation), uintptr(unsafe.Pointer(&r.scales.alpha)), r.atA, uintptr(r.a), r.atB, uintptr(r.b),
		uintptr(unsafe.Pointer(&r.scales.beta)), r.atD, uintptr(r.d), r.atD, uintptr(r.d), uintptr(unsafe.Pointer(r.algorithm)),
		r.workspace, uintptr(r.workspaceBytes), r.stream))
}
