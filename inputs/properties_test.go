package inputs

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawSource draws a data set with random access or without, and returns its number of rows.
func drawSource(t *testing.T, rt *rapid.T) (Dataset, int) {
	n := rapid.IntRange(1, 80).Draw(rt, "rows")
	ds := Dataset(numbers(t, memory.DefaultAllocator, n))
	if rapid.Bool().Draw(rt, "stream") {
		ds = streamOf(ds)
	}
	return ds, n
}

func seq(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func TestShuffleIsPermutation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ds, n := drawSource(t, rt)
		buffer, seed := rapid.IntRange(1, 100).Draw(rt, "buffer"), rapid.Int64().Draw(rt, "seed")
		got := flat(ids(t, Pipe(ds, Shuffle(buffer, seed), Repeat(2), Batch(7, false))))
		for epoch := range 2 {
			order := slices.Clone(got[epoch*n : (epoch+1)*n])
			for i, id := range order {
				if int(id) >= i+buffer {
					rt.Fatalf("row %d came at place %d out of a buffer of %d", id, i, buffer)
				}
			}
			slices.Sort(order)
			if d := cmp.Diff(seq(n), order); d != "" {
				rt.Fatalf("epoch %d is no permutation: %s", epoch, d)
			}
		}
		if n > 20 && buffer > 10 && slices.Equal(got[:n], got[n:]) {
			rt.Fatal("both epochs have the same order")
		}
	})
}

func TestShuffleOfRowsEqualsShuffleOfNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, buffer := rapid.IntRange(1, 2000).Draw(rt, "rows"), rapid.IntRange(1, 300).Draw(rt, "buffer")
		src := numbers(t, memory.DefaultAllocator, n)
		a := ids(t, Pipe(src, Shuffle(buffer, 9), Batch(64, false)))
		b := ids(t, Pipe(streamOf(src), Shuffle(buffer, 9), Batch(64, false)))
		c := ids(t, Pipe(streamOf(src), Cache(), Shuffle(buffer, 9), Batch(64, false)))
		if d := cmp.Diff(a, b) + cmp.Diff(a, c); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestBatchSizes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ds, n := drawSource(t, rt)
		first, size := rapid.IntRange(1, 20).Draw(rt, "first"), rapid.IntRange(1, 20).Draw(rt, "size")
		drop := rapid.Bool().Draw(rt, "drop")
		got := ids(t, Pipe(ds, Batch(first, false), Batch(size, drop)))
		for i, b := range got {
			if len(b) != size && (drop || i < len(got)-1 || len(b) == 0) {
				rt.Fatalf("batch %d of %d has %d rows", i, len(got), len(b))
			}
		}
		want := seq(n)
		if drop {
			want = want[:n-n%size]
		}
		if !slices.Equal(flat(got), want) {
			rt.Fatalf("rows changed: %v", got)
		}
	})
}

// TestBatchFarBeyondTheData: sizes are limits, not requests for memory.
func TestBatchFarBeyondTheData(t *testing.T) {
	ds := Pipe(numbers(t, checked(t), 5), Shuffle(math.MaxInt, 1), Batch(math.MaxInt, false))
	if got := drain(t, iterate(t, ds), ds.Schema(), 9); len(got) != 1 {
		t.Errorf("got %d batches", len(got))
	}
}

func TestSelections(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ds, n := drawSource(t, rt)
		k := rapid.IntRange(2, 9).Draw(rt, "parts")
		var parts, rest []int64
		for i := range k {
			shard := flat(ids(t, Shard(i, k)(ds)))
			for j, id := range shard {
				if int(id) != j*k+i {
					rt.Fatalf("shard %d: %v", i, shard)
				}
			}
			parts = append(parts, shard...)
		}
		out := rapid.IntRange(0, k-1).Draw(rt, "held out")
		rest = append(flat(ids(t, Fold(k, out, true)(ds))), flat(ids(t, Fold(k, out, false)(ds)))...)
		cut := int64(rapid.IntRange(0, n+3).Draw(rt, "cut"))
		together := append(flat(ids(t, Take(cut)(ds))), flat(ids(t, Skip(cut)(ds)))...)
		slices.Sort(parts)
		slices.Sort(rest)
		if d := cmp.Diff(seq(n), parts) + cmp.Diff(seq(n), rest) + cmp.Diff(seq(n), together); d != "" {
			rt.Fatal(d)
		}
	})
}

// TestParallelismDoesNotMatter compares one worker without prefetching with many workers.
func TestParallelismDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ds, _ := drawSource(t, rt)
		size := rapid.IntRange(1, 9).Draw(rt, "size")
		plain := Pipe(ds, Shuffle(30, 3), Repeat(2), Map(double()), Batch(size, false))
		batched := Pipe(ds, Shuffle(30, 3), Repeat(2), Batch(size, false),
			ParallelMap(double(), rapid.IntRange(1, 5).Draw(rt, "workers")), Prefetch(rapid.IntRange(0, 5).Draw(rt, "prefetch")))
		a, b := drain(t, iterate(t, plain), plain.Schema(), 1000), drain(t, iterate(t, batched), batched.Schema(), 1000)
		if d := cmp.Diff(a, b); d != "" {
			rt.Fatal(d)
		}
	})
}

// TestShuffleIsUniform counts which row comes at which place, over many seeds. With
// a buffer of all rows each row comes at each place equally often. With a smaller
// buffer, the first row is drawn uniformly from the buffer, and the probabilities for each place
// follow from the places before.
func TestShuffleIsUniform(t *testing.T) {
	testkit.NotConcurrent(t)
	const rows, seeds = 5, 20_000
	src := numbers(t, memory.DefaultAllocator, rows)
	for _, buffer := range []int{1, 2, 3, rows, rows + 3} {
		for kind, ds := range map[string]Dataset{"numbers": src, "rows": streamOf(src)} {
			var counts [rows][rows]float64 // by place and row
			for seed := range int64(seeds) {
				for place, row := range flat(ids(t, Pipe(ds, Shuffle(buffer, seed), Batch(rows, false)))) {
					counts[place][row]++
				}
				if kind == "rows" && seed == seeds/10 {
					break // the same code draws them
				}
			}
			want := shuffleOdds(rows, buffer)
			for place := range counts {
				total := 0.0
				for _, n := range counts[place] {
					total += n
				}
				for row, n := range counts[place] {
					p := want[place][row]
					if sigma := math.Sqrt(p * (1 - p) / total); math.Abs(n/total-p) > 6*sigma {
						t.Errorf("buffer %d of %s: row %d at place %d: %.4f of the time, expected %.4f", buffer, kind, row, place, n/total, p)
					}
				}
			}
		}
	}
}

// shuffleOdds returns the probability of each row at each place: before a draw, row r is
// in the buffer unless it was drawn before, if r < place+buffer.
func shuffleOdds(rows, buffer int) [][]float64 {
	left := make([]float64, rows) // the probability that a row was not yet drawn
	for i := range left {
		left[i] = 1
	}
	odds := make([][]float64, rows)
	for place := range odds {
		odds[place] = make([]float64, rows)
		held := float64(min(buffer, rows-place))
		for row := range min(place+buffer, rows) {
			odds[place][row] = left[row] / held
			left[row] -= odds[place][row]
		}
	}
	return odds
}
