package kernels

import "unsafe"

// Rows of A that are a multiple of 4096 bytes apart share one set of the L1 cache, which has eight lines. A tile of more rows finds
// none of the data that it has read. If tasks cannot pack A themselves, because many of them read the same rows, A is copied once
// for all. Rows at half or a quarter of that distance are a little slower, which alone is not worth a copy; rows that are copied
// anyway are placed apart.
const (
	waySize       = 4096     // bytes of an L1 cache between two addresses of one set
	ways          = 8        // lines of a set
	spreadRows    = 3        // most rows of a tile that may share a set in a copy
	spreadColumns = 128      // least columns of C for which a copy of A pays
	spreadFrom    = 48 << 20 // least multiplications of a product, likewise
	spreadMost    = 1 << 20  // most elements of A: a bound on memory
)

// crowded reports whether too many of the rows, ld elements apart, share a set of the L1 cache.
func crowded[T Float](rows, ld int) bool { return sharing[T](rows, ld) > spreadRows }

// sharing returns how many of the rows, ld elements apart, share a set of the L1 cache.
func sharing[T Float](rows, ld int) int {
	distance := ld * int(unsafe.Sizeof(T(0)))
	sets := waySize / cacheLine // number of different sets of the rows
	for sets > 1 && distance%(waySize/sets*2) == 0 {
		sets /= 2
	}
	return ceilDiv(rows, sets)
}

// apart returns a distance of at least n elements at which the rows are not crowded.
func apart[T Float](rows, n int) int {
	if !crowded[T](rows, n) {
		return n
	}
	return n + cacheLine/int(unsafe.Sizeof(T(0)))
}

// spreads reports whether A is copied before the product, to rows that are not crowded.
func (j *gemmJob[T]) spreads() bool {
	return j.packed != nil && j.directA && !j.streams() && j.N >= spreadColumns && j.M*j.K <= spreadMost && j.M*j.K*j.N >= spreadFrom &&
		sharing[T](min(j.M, j.tallest()), j.LDA) > ways
}

// spread copies A, each panel by one worker.
func (j *gemmJob[T]) spread(parallel bool) {
	j.spreadLD = apart[T](j.tiles.rows, j.K)
	j.bufA = j.spaceA.take(j.M * j.spreadLD)
	j.phase = spreadPhase
	j.dispatch(j.panels, parallel)
	j.A, j.LDA = j.bufA, j.spreadLD
}

// spreadPanels copies panels [lo, hi) of A.
func (j *gemmJob[T]) spreadPanels(lo, hi int) {
	from, _ := j.panel(lo)
	_, to := j.panel(hi - 1)
	copyRows(j.bufA[from*j.spreadLD:], j.spreadLD, j.A[from*j.LDA:], j.LDA, j.K, to-from)
}
