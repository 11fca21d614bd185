package kernels_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// faults makes an empty fault record on the GPU.
func faults(r *rig) driver.Ptr { return up(r, make([]int64, kernels.FaultBytes/8)) }

func TestSort(t *testing.T) {
	r := newRig(t, "sort")
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, rows int }{{1, 1}, {5, 15}, {5, 16}, {4096, 3}, {4097, 100000}, {9000, 1 << 20}, {300, 1<<32 - 2}} {
		ids := make([]int64, c.n)
		for i := range ids {
			ids[i] = rng.Int64N(int64(c.rows))
			if i%7 == 3 {
				ids[i] = -1 - rng.Int64N(3)
			}
		}
		s := kernels.Sort{IDs: up(r, ids), Int64: true, N: c.n, Rows: c.rows, Fault: kernels.Fault{Record: faults(r)}}
		s.Scratch = r.alloc(s.ScratchBytes())
		calls, keys, order := s.Calls()
		r.run(calls...)
		want := make([]int32, c.n)
		for i := range want {
			want[i] = int32(i)
		}
		key := func(i int32) uint32 {
			if ids[i] < 0 {
				return uint32(c.rows)
			}
			return uint32(ids[i])
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
		if got := down[int32](r, order, c.n); !slices.Equal(got, want) {
			t.Fatalf("%d ids of %d rows: not in order, or not stable", c.n, c.rows)
		}
		for p, k := range down[uint32](r, keys, c.n) {
			if k != key(want[p]) {
				t.Fatalf("%d ids of %d rows: place %d: expected key %d, got %d", c.n, c.rows, p, key(want[p]), k)
			}
		}
	}
	if err := (kernels.Sort{N: 1, Rows: 1 << 32}).Check(); err == nil {
		t.Error("2^32 rows: expected an error")
	}
}

// TestRuns: runs longer than a chunk, and one-row tables, are summed as on the host.
func TestRuns(t *testing.T) {
	r := newRig(t, "sort")
	const n, rows, cols = 700, 6, 5
	rng := rand.New(rand.NewPCG(3, 4))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(rng.IntN(rows)) - 1
	}
	data, table := numbers(1, n*cols), numbers(2, rows*cols)
	s := kernels.Sort{IDs: up(r, ids), N: n, Rows: rows, Fault: kernels.Fault{Record: faults(r)}}
	s.Scratch = r.alloc(s.ScratchBytes())
	calls, keys, order := s.Calls()
	runs := kernels.Runs{Keys: keys, Parts: r.alloc(4 * n * cols), N: n, Rows: rows, Cols: cols}
	calls = append(calls, runs.Sum(kernels.Float32, up(r, data), order))
	on := up(r, table)
	r.run(append(calls, runs.Fold(host.Add, kernels.Float32, on, s.Fault.Record))...)
	host.ScatterRows(host.Add, table, data, ids, cols)
	near(t, "add", table, down[float32](r, on, len(table)), 2e-5)
	r.run(runs.Fold(host.Sub, kernels.Float32, on, s.Fault.Record))
	host.ScatterRows(host.Sub, table, data, ids, cols)
	near(t, "subtract", table, down[float32](r, on, len(table)), 2e-5)

	sums := make([]float32, rows*cols)
	host.ScatterRows(host.Add, sums, data, ids, cols)
	copy(sums[5*cols:], table[5*cols:]) // row 5 has no ids
	r.run(runs.Set(kernels.Float32, on, s.Fault.Record))
	near(t, "set", sums, down[float32](r, on, len(table)), 2e-5)

	before := down[float32](r, on, len(table))
	r.run(runs.Fold(host.Add, kernels.Float32, on, up(r, []int64{1, 0, 0, 0})))
	near(t, "after a fault", before, down[float32](r, on, len(table)), 0)
}

func TestSortTellsOfIDsThatAreNoRows(t *testing.T) {
	r := newRig(t, "sort")
	s := kernels.Sort{IDs: up(r, []int32{1, -4, 9, 2}), N: 4, Rows: 9, Fault: kernels.Fault{Record: faults(r), Operation: 3}}
	s.Scratch = r.alloc(s.ScratchBytes())
	calls, _, _ := s.Calls()
	r.run(calls...)
	if f := down[int64](r, s.Fault.Record, 4); !slices.Equal(f, []int64{4, 9, 2, 9}) {
		t.Errorf("id 9 at place 2 of 9 rows, operation 3: got fault %v", f)
	}
}
