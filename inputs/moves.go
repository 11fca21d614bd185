package inputs

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// move copies a single row from a row of a chunk to a row of the result.
type move struct{ chunk, from, to int32 }

// A shuffle gathers many rows from anywhere in memory. Columns of numbers are copied in the order of their source pages,
// of 1<<pageBits rows, so that each page of memory is visited once, not once per row. For few rows, sorting costs
// more than it saves.
const (
	pageBits = 10 // 4 KiB of 4-byte numbers
	fewRows  = 4 << pageBits
)

// movesOf returns the moves of single rows, sorted by source page; nil if there are few rows or most spans have several rows.
func movesOf(recs []arrow.Record, spans []span, rows int) []move {
	if rows < fewRows || rows > math.MaxInt32 || 2*len(spans) < rows {
		return nil
	}
	pages := make([]int32, len(recs)+1) // the number of the first page of each record
	for k, r := range recs {
		n := r.NumRows()
		if n > math.MaxInt32 {
			return nil
		}
		pages[k+1] = pages[k] + int32((n+1<<pageBits-1)>>pageBits)
	}
	at := make([]int32, pages[len(recs)]+1) // where the moves from each page begin
	for _, s := range spans {
		for row := s.start; row < s.start+s.n; row++ {
			at[pages[s.chunk]+int32(row>>pageBits)+1]++
		}
	}
	for p := 1; p < len(at); p++ {
		at[p] += at[p-1]
	}
	moves := make([]move, rows)
	to := int32(0)
	for _, s := range spans {
		for row := s.start; row < s.start+s.n; row++ {
			p := pages[s.chunk] + int32(row>>pageBits)
			moves[at[p]] = move{int32(s.chunk), int32(row), to}
			at[p]++
			to++
		}
	}
	return moves
}

// scatter does the moves of a column of numbers.
func scatter[T any](dst []T, chunks [][]byte, cast func([]byte) []T, moves []move) {
	src := make([][]T, len(chunks))
	for k, b := range chunks {
		src[k] = cast(b)
	}
	for _, m := range moves {
		dst[m.to] = src[m.chunk][m.from]
	}
}
