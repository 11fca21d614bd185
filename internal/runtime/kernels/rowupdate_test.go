package kernels

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawIDs draws ids of rows, many of them more than once if there are few rows.
func drawIDs(t *rapid.T, rows int) []int64 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, int64(rows-1)), rapid.SampledFrom([]int64{0, int64(rows - 1)})), 0, 300).Draw(t, "ids")
}

func ids32(ids []int64) []int32 {
	n := make([]int32, len(ids))
	for i, id := range ids {
		n[i] = int32(id)
	}
	return n
}

// TestPickRows: PickRows picks the rows that the ids name, for any size of rows, and PutRows puts them back.
func TestPickRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 40).Draw(t, "rows")
		size := rapid.OneOf(rapid.SampledFrom([]int{1, 4, 8, 16, 32, 64, 128}), rapid.IntRange(1, 200)).Draw(t, "size")
		table := make([]byte, rows*size)
		for i := range table {
			table[i] = byte(i * 31 >> 3)
		}
		ids := drawIDs(t, rows)
		var want []byte
		for _, id := range ids {
			want = append(want, table[int(id)*size:][:size]...)
		}
		got := make([]byte, len(want))
		PickRows(got, table, ids, size)
		if !bytes.Equal(got, want) {
			t.Fatalf("ids %v: got %v, want %v", ids, got, want)
		}
		clear(got)
		PickRows(got, table, ids32(ids), size)
		if !bytes.Equal(got, want) {
			t.Fatalf("int32 ids %v: got %v, want %v", ids, got, want)
		}
		back := make([]byte, len(table))
		PutRows(back, got, ids, size)
		for i := range rows {
			want := make([]byte, size)
			if slices.Contains(ids, int64(i)) {
				want = table[i*size:][:size]
			}
			if !bytes.Equal(back[i*size:][:size], want) {
				t.Fatalf("row %d: got %v, want %v", i, back[i*size:][:size], want)
			}
		}
	})
}

func TestBadRow(t *testing.T) {
	for _, c := range []struct {
		ids  []int64
		rows int
		want int
	}{
		{nil, 0, -1}, {[]int64{0}, 0, 0}, {[]int64{0, 4}, 5, -1}, {[]int64{0, 5}, 5, 1}, {[]int64{3, -1, 9}, 5, 1}, {[]int64{math.MinInt64}, 5, 0}, {[]int64{math.MaxInt64}, 5, 0},
	} {
		if got := BadRow(c.ids, c.rows); got != c.want {
			t.Errorf("ids %v of %d rows: got %d, want %d", c.ids, c.rows, got, c.want)
		}
	}
	if got := BadRow([]int32{1, math.MinInt32}, 5); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

// rowRule is a rule with the number of its variables.
type rowRule[T Float] struct {
	name      string
	rule      Rule[T]
	variables int
}

func rowRules[T Float]() []rowRule[T] {
	return []rowRule[T]{
		{"adagrad", ApplyAdagrad[T], 2}, {"momentum", ApplyMomentum[T], 2}, {"rmsprop", ApplyRMSProp[T], 3}, {"centered", ApplyCenteredRMSProp[T], 4},
		{"ftrl", ApplyFtrl[T], 3}, {"adadelta", ApplyAdadelta[T], 3}, {"proximal", ApplyProximalGradientDescent[T], 1},
	}
}

// testUpdateRows compares with a rule that is applied row by row, in the order of the ids.
func testUpdateRows[T Float](t *testing.T) {
	all := rowRules[T]()
	rapid.Check(t, func(t *rapid.T) {
		rule := all[rapid.IntRange(0, len(all)-1).Draw(t, "rule")]
		rows := rapid.IntRange(1, 40).Draw(t, "rows")
		width := rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{200, updateWide - 1, updateWide, 300, updateBlock + 1})).Draw(t, "width")
		ids := drawIDs(t, rows)
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		p, q := Part[T]{Count: 4, S: [6]T{0.1, 0.2, 0.1, 0.5}}, Part[T]{}
		p.G = vector[T](r, len(ids)*width)
		if len(p.G) > 0 && rapid.Bool().Draw(t, "nan") {
			p.G[len(p.G)/2] = T(math.NaN())
		}
		q = p
		for i := range rule.variables {
			p.W[i] = positive[T](r, rows*width)
			q.W[i] = slices.Clone(p.W[i])
		}
		byRow(&q, rule.rule, ids, width)
		if rapid.Bool().Draw(t, "int32") {
			UpdateRows(&p, rule.rule, ids32(ids), width)
		} else {
			UpdateRows(&p, rule.rule, ids, width)
		}
		for i := range rule.variables {
			for k, v := range p.W[i] {
				if w := q.W[i][k]; v != w && (v == v || w == w) && math.Abs(float64(v-w)) > 1e-5*math.Abs(float64(w)) {
					t.Fatalf("%s, variable %d, element %d: got %v, want %v", rule.name, i, k, v, w)
				}
			}
		}
	})
}

// byRow applies a rule row by row.
func byRow[T Float](p *Part[T], rule Rule[T], ids []int64, width int) {
	if width == 0 {
		return
	}
	for i, id := range ids {
		one := *p
		one.G = p.G[i*width:][:width]
		for v, all := range p.W {
			if all != nil {
				one.W[v] = all[int(id)*width:][:width]
			}
		}
		rule(&one)
	}
}

func TestUpdateRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testUpdateRows[float32])
		t.Run("float64", testUpdateRows[float64])
	})
}

// TestRowsOnThreads: with repeated ids, several threads give the same bits as one.
func TestRowsOnThreads(t *testing.T) {
	const rows, width, n = 500, 16, 20_000
	ids, g := make([]int64, n), vector[float32](newRand(3), n*width)
	for i := range ids {
		ids[i] = int64(i*i%rows) * int64(i%3) / 2
	}
	defer SetThreads(0)
	var want [3][]float32
	for _, threads := range []int{1, 2, 4} {
		SetThreads(threads)
		r := newRand(4)
		p := Part[float32]{W: [4][]float32{vector[float32](r, rows*width), positive[float32](r, rows*width)}, G: g, S: [6]float32{0.1}}
		UpdateRows(&p, ApplyAdagrad[float32], ids, width)
		sums := vector[float32](r, rows*width)
		ScatterRows(Add, sums, g, ids, width)
		got := [3][]float32{p.W[0], p.W[1], sums}
		if threads == 1 {
			want = got
			continue
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%d threads: result %d differs from that of one", threads, i)
			}
		}
	}
}

func TestRowsDoNotAllocate(t *testing.T) {
	const rows, width, n = 500, 16, 20_000
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i % rows)
	}
	g, got := make([]float32, n*width), make([]byte, 4*n*width)
	p := Part[float32]{W: [4][]float32{make([]float32, rows*width), make([]float32, rows*width)}, G: g, S: [6]float32{0.1, 1}}
	requireNoAllocs(t, "UpdateRows", func() { UpdateRows(&p, ApplyAdagrad[float32], ids, width) })
	requireNoAllocs(t, "ScatterRows", func() { ScatterRows(Add, p.W[0], g, ids, width) })
	requireNoAllocs(t, "PickRows", func() { PickRows(got, bytesOf(p.W[0]), ids, 4*width) })
}

// BenchmarkRows: 20,480 rows of a table of 64 MB, or of rows of one element.
func BenchmarkRows(b *testing.B) {
	const n, elements = 20_480, 1_000_000 * 16
	w, a := make([]float32, elements), make([]float32, elements)
	for _, width := range []int{1, 8, 10, 16, 64, 256} {
		ids, g := make([]int64, n), vector[float32](newRand(1), n*width)
		for i := range ids {
			ids[i] = int64(i % (n / 2) * 7919 % (elements / width))
		}
		got := make([]byte, 4*n*width)
		b.Run(fmt.Sprint("pick/", width), func(b *testing.B) {
			b.SetBytes(4 * n * int64(width))
			for b.Loop() {
				PickRows(got, bytesOf(w), ids, 4*width)
			}
		})
		b.Run(fmt.Sprint("scatter/", width), func(b *testing.B) {
			b.SetBytes(4 * n * int64(width))
			for b.Loop() {
				ScatterRows(Add, w, g, ids, width)
			}
		})
		p := Part[float32]{W: [4][]float32{w, a}, G: g, S: [6]float32{0.1, 1}}
		b.Run(fmt.Sprint("adagrad/", width), func(b *testing.B) {
			b.SetBytes(4 * n * int64(width))
			for b.Loop() {
				UpdateRows(&p, ApplyAdagrad[float32], ids, width)
			}
		})
	}
}
