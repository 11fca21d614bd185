package kernels

import "unsafe"

// Rows of A that lie a multiple of 4096 bytes apart share one set of lines of the L1 cache, which has eight: a tile of more
// rows finds nothing of what it has read of them. Where a task cannot pack A for itself, because many of them read the same rows,
// A is copied once for all. Rows at half and a quarter of that distance are a little slower, which is not worth a copy of their own;
// where rows are copied anyway, they lie apart.
const (
	waySize       = 4096     // bytes of an L1 cache between two addresses of one set
	ways          = 8        // lines of a set
	spreadRows    = 3        // most rows of a tile that may share a set where rows are copied
	spreadColumns = 128      // columns of C from which a copy of A is worth it
	spreadFrom    = 48 << 20 // multiplications of a product, likewise
	spreadMost    = 1 << 20  // elements of A: a bound on memory
)

// crowded reports whether so many rows, which lie ld elements apart, are too many for the sets of the L1 cache that they share.
func crowded[T Float](rows, ld int) bool { return sharing[T](rows, ld) > spreadRows }

// sharing returns how many of so many rows, which lie ld elements apart, share a set of the L1 cache.
func sharing[T Float](rows, ld int) int {
	distance := ld * int(unsafe.Sizeof(T(0)))
	sets := waySize / cacheLine // how many different ones the rows meet
	for sets > 1 && distance%(waySize/sets*2) == 0 {
		sets /= 2
	}
	return ceilDiv(rows, sets)
}

// apart returns a distance of at least n elements at which so many rows are not crowded.
func apart[T Float](rows, n int) int {
	if !crowded[T](rows, n) {
		return n
	}
	return n + cacheLine/int(unsafe.Sizeof(T(0)))
}

// spreads reports whether A is copied before the product to rows that are not crowded.
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
