package cublaslt

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// fakeLibrary is cuBLASLt in Go over arena. It computes products by columns with its own code for the header's rules, so that a
// mistake in the package gives wrong numbers.
type fakeLibrary struct {
	memory  arena
	objects map[handle]*fakeObject
	last    handle
	log     []string

	offers []candidate // the heuristic's proposals
	asked  int
	fail   map[string]error // by call
}

type fakeObject struct {
	kind  object
	args  []uintptr
	attrs map[int]uint64
}

// arena is memory of the GPU, at an address that Go cannot follow.
type arena []byte

const arenaAt = 1 << 40

func (a *arena) alloc(bytes int) driver.Ptr {
	at := driver.Ptr(arenaAt + len(*a))
	*a = append(*a, make([]byte, (bytes+255)/256*256)...)
	return at
}

func (a arena) load(at uintptr, i int, t uintptr) float64 {
	b := a[at-arenaAt:]
	switch t {
	case typeFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	case typeBFloat16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}

func (a arena) store(at uintptr, i int, t uintptr, v float64) {
	b := a[at-arenaAt:]
	switch t {
	case typeFloat64:
		binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
	case typeBFloat16:
		binary.LittleEndian.PutUint16(b[2*i:], uint16((math.Float32bits(float32(v))+0x8000)>>16))
	default:
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(v)))
	}
}

func newFake() *fakeLibrary {
	return &fakeLibrary{objects: map[handle]*fakeObject{}, fail: map[string]error{},
		offers: []candidate{{state: int32(StatusNotSupported)}, {algorithm: algorithm{1}, workspace: workspaceLimit + 1}, {algorithm: algorithm{7}, workspace: 4096}, {algorithm: algorithm{9}}}}
}

func (f *fakeLibrary) note(call, text string, args ...any) error {
	f.log = append(f.log, call+fmt.Sprintf(text, args...))
	return f.fail[call]
}

func (f *fakeLibrary) create(o object, args ...uintptr) (handle, error) {
	if err := f.note("create", " %d %v", o, args); err != nil {
		return 0, err
	}
	f.last++
	f.objects[f.last] = &fakeObject{o, args, map[int]uint64{}}
	return f.last, nil
}

// sizes of attributes that are not 4 bytes.
var eight = map[object]map[int]bool{operation: {operationBiasPointer: true}, layout: {layoutBatchStride: true}, preference: {preferenceWorkspace: true}}

func (f *fakeLibrary) set(o object, h handle, attribute int, value []byte) error {
	x := f.objects[h]
	size := 4
	if eight[o][attribute] {
		size = 8
	}
	if x == nil || x.kind != o || len(value) != size {
		return &Error{"set", StatusInvalidValue}
	}
	x.attrs[attribute] = binary.LittleEndian.Uint64(append(append([]byte{}, value...), 0, 0, 0, 0))
	return f.note("set", " %d %d", attribute, x.attrs[attribute])
}

func (f *fakeLibrary) destroy(o object, h handle) error {
	x := f.objects[h]
	if x == nil || x.kind != o {
		return &Error{"destroy", StatusInvalidValue}
	}
	delete(f.objects, h)
	return f.note("destroy", "")
}

func (f *fakeLibrary) heuristic(q query) ([]candidate, error) {
	f.asked++
	limit := f.objects[q.preference].attrs[preferenceWorkspace]
	return f.offers, f.note("heuristic", " %d", limit)
}

// fakeMatrix is an operand by columns.
type fakeMatrix struct {
	x  *fakeObject
	at uintptr
}

func (m fakeMatrix) index(row, col, batch int) int {
	return batch*int(m.x.attrs[layoutBatchStride]) + col*int(m.x.args[3]) + row
}

func (f *fakeLibrary) get(m fakeMatrix, row, col, batch int) float64 {
	if row >= int(m.x.args[1]) || col >= int(m.x.args[2]) || int(m.x.args[1]) > int(m.x.args[3]) {
		panic(fmt.Sprintf("element %d, %d of a layout %v", row, col, m.x.args))
	}
	return f.memory.load(m.at, m.index(row, col, batch), m.x.args[0])
}

func (f *fakeLibrary) matmul(r request) error {
	if err := f.note("matmul", " algorithm %d, workspace %d at %d, stream %d", r.algorithm[0], r.workspaceBytes, r.workspace, r.stream); err != nil {
		return err
	}
	op := f.objects[r.operation]
	a, b, d := fakeMatrix{f.objects[r.a], r.atA}, fakeMatrix{f.objects[r.b], r.atB}, fakeMatrix{f.objects[r.d], r.atD}
	epilogue, k := op.attrs[operationEpilogue], int(a.x.args[2])
	if op.attrs[operationTransA] == transposed {
		k = int(a.x.args[1])
	}
	alpha := float64(math.Float32frombits(binary.LittleEndian.Uint32(r.scales.alpha[:])))
	if op.args[1] == typeFloat64 {
		alpha = math.Float64frombits(binary.LittleEndian.Uint64(r.scales.alpha[:]))
	}
	for z := range max(1, int(d.x.attrs[layoutBatchCount])) {
		for i := range int(d.x.args[1]) {
			for j := range int(d.x.args[2]) {
				s := 0.0
				for l := range k {
					x, y := [2]int{i, l}, [2]int{l, j}
					if op.attrs[operationTransA] == transposed {
						x[0], x[1] = x[1], x[0]
					}
					if op.attrs[operationTransB] == transposed {
						y[0], y[1] = y[1], y[0]
					}
					s += f.get(a, x[0], x[1], z) * f.get(b, y[0], y[1], z)
				}
				s *= alpha
				if epilogue&epilogueBias != 0 {
					s += f.memory.load(uintptr(op.attrs[operationBiasPointer]), i, d.x.args[0])
				}
				if epilogue&epilogueRelu != 0 {
					s = max(s, 0)
				}
				f.memory.store(d.at, d.index(i, j, z), d.x.args[0], s)
			}
		}
	}
	return nil
}
