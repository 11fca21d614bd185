package kernels

import "unsafe"

// streams reports whether the product reads packed B only once.
func (j *gemmJob[T]) streams() bool {
	return j.packed != nil && j.M <= 2 && (!j.packed.inRows() || j.packed.tiles.stream != nil)
}

// streamTask multiplies all rows of A by one range of strips of B. Every second product reads B backwards, and so begins with
// the strips that the product before has left in the cache. Always reading forwards, it would find none of a B that is slightly
// larger than the cache.
func (j *gemmJob[T]) streamTask(i int, t *tileArgs) {
	part := gemmPart[T]{j, j.work}
	strips := ceilDiv(part.n1-part.n0, j.nr)
	if j.backward {
		i = mirrored(i, j.nTasks)
	}
	first, end := i*strips/j.nTasks, (i+1)*strips/j.nTasks
	part.setup(t)
	t.a = unsafe.Pointer(&j.A[part.indexA(0)])
	for s := first; s < end; s++ {
		n := part.n0 + s*j.nr
		if j.backward {
			n = part.n0 + (first+end-1-s)*j.nr
		}
		part.stripB(t, n)
		part.target(t, 0, n)
		j.tiles.streamTile(t, j.M, min(j.nr, part.n1-n))
	}
}

// mirrored reverses the order within each half of n tasks. The caller takes tasks from the front and its helpers from the back,
// so each keeps its half.
func mirrored(i, n int) int {
	half := n / 2
	if i < half {
		return half - 1 - i
	}
	return half + n - 1 - i
}
