package kernels

import (
	"fmt"
	"math/bits"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Sort sorts N ids, int32 or int64, into a table of Rows rows, so that equal ids come together. Negative ids name no row. An id of
// Rows or more is a fault. The sort is stable: equal ids keep their order.
type Sort struct {
	IDs     driver.Ptr
	Int64   bool
	N, Rows int
	Scratch driver.Ptr // ScratchBytes of memory, aligned to 256 bytes
	Fault   Fault
}

const (
	sortBits = 4
	sortTile = 4096 // ids of a block
	maxIDs   = 1 << 31
)

// Check fails if there are too many ids or rows for the kernels.
func (s Sort) Check() error {
	if s.N >= maxIDs || uint64(s.Rows) >= 1<<32 {
		return fmt.Errorf("%d ids of a table of %d rows: expected fewer than %d and %d", s.N, s.Rows, maxIDs, uint64(1)<<32)
	}
	return nil
}

// passes returns the number of digits of a key, which is at most Rows.
func (s Sort) passes() int { return ceilDiv(bits.Len64(uint64(s.Rows)), sortBits) }

func (s Sort) tiles() int { return ceilDiv(s.N, sortTile) }

// ScratchBytes returns the bytes for two copies of keys and order, and for counts.
func (s Sort) ScratchBytes() int { return 4*Aligned(4*s.N) + 4*s.tiles()<<sortBits }

// Aligned rounds a number of bytes up to a multiple of 256, where parts of a buffer may begin.
func Aligned(n int) int { return ceilDiv(n, 256) * 256 }

// Calls returns the launches, and the addresses of the sorted keys and of the ids' original places.
func (s Sort) Calls() (calls []Call, keys, order driver.Ptr) {
	size := driver.Ptr(Aligned(4 * s.N))
	keys, order = s.Scratch, s.Scratch+size
	toKeys, toOrder, counts := s.Scratch+2*size, s.Scratch+3*size, s.Scratch+4*size
	grid, block := over(s.N)
	calls = append(calls, call("sort_keys"+intSuffix(s.Int64), grid, block, keys, order, s.IDs, s.Fault.Record, s.Fault.Operation, s.N, s.Rows))
	tiles := driver.Dim{X: max(1, s.tiles())}
	for p := range s.passes() {
		shift := int32(p * sortBits)
		calls = append(calls,
			call("sort_count", tiles, block, counts, keys, s.N, shift),
			call("sort_scan", driver.Dim{X: 1}, block, counts, tiles.X<<sortBits),
			call("sort_scatter", tiles, block, toKeys, toOrder, keys, order, counts, s.N, shift))
		keys, order, toKeys, toOrder = toKeys, toOrder, keys, order
	}
	return calls, keys, order
}

// Element is the type of the elements that runs sum.
type Element string

// The types of elements.
const (
	Float32 Element = "f32"
	Float64 Element = "f64"
	Int32   Element = "i32"
	Int64   Element = "i64"
)

// Runs are rows summed by sorted key: N rows of Cols elements, for a table of Rows rows.
type Runs struct {
	Keys          driver.Ptr // Sort's keys
	Parts         driver.Ptr // [N, Cols]: sums of parts of runs
	N, Rows, Cols int
}

// Sum returns the launch that computes Parts from data [N, Cols]. order lists data's rows in the order of the keys.
func (r Runs) Sum(t Element, data, order driver.Ptr) Call {
	grid, block := over(r.N * r.Cols)
	return call("run_parts_"+string(t), grid, block, r.Parts, data, r.Keys, order, r.N, r.Rows, r.Cols)
}

// Set sets the table's rows to the sums. Rows without a sum stay as they are.
func (r Runs) Set(t Element, table, fault driver.Ptr) Call { return r.into(t, table, fault, 0) }

// Fold adds the sums to the table's rows or, for host.Sub, subtracts them.
func (r Runs) Fold(op host.BinaryOp, t Element, table, fault driver.Ptr) Call {
	if op == host.Sub {
		return r.into(t, table, fault, 2)
	}
	return r.into(t, table, fault, 1)
}

func (r Runs) into(t Element, table, fault driver.Ptr, how int32) Call {
	grid, block := over(r.N * r.Cols)
	return call("run_into_"+string(t), grid, block, table, r.Parts, r.Keys, fault, r.N, r.Rows, r.Cols, how)
}

// Apart returns the launch that puts the sum of each run of floats, and its key, into rows [N, Cols] and ids [N], at the place of
// the run's first row. The places of the run's other rows get zeros and -1. ids are int64 if wide is set, else int32.
func (r Runs) Apart(t Element, rows, ids, order driver.Ptr, wide bool) Call {
	grid, block := over(r.N * r.Cols)
	return call("run_apart_"+string(t)+intSuffix(wide), grid, block, rows, ids, r.Parts, r.Keys, order, r.N, r.Rows, r.Cols)
}

// sortKernels describes src/sort.cu.
func sortKernels() []Kernel {
	all := []Kernel{{"sort_keys_i32", "ppppll" + "l"}, {"sort_keys_i64", "ppppll" + "l"}, {"sort_count", "ppli"}, {"sort_scan", "pl"}, {"sort_scatter", "pppppli"}}
	for _, t := range []Element{Float32, Float64, Int32, Int64} {
		all = append(all, Kernel{"run_parts_" + string(t), "pppplll"}, Kernel{"run_into_" + string(t), "ppppllli"})
	}
	for _, t := range []Element{Float32, Float64} {
		for _, wide := range []bool{false, true} {
			all = append(all, Kernel{"run_apart_" + string(t) + intSuffix(wide), "ppppplll"})
		}
	}
	return all
}
