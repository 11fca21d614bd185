package kernels

import "unsafe"

// streams reports whether the product goes once over packed B.
func (j *gemmJob[T]) streams() bool {
	return j.packed != nil && j.M <= 2 && (!j.packed.inRows() || j.packed.tiles.stream != nil)
}

// streamTask multiplies all rows of A by one range of strips of B. Every second product goes over B backwards: it begins
// with what the one before has left in the cache, where going round and round would find nothing of a B that is slightly too
// large.
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

// mirrored turns each half of n tasks around. The caller takes tasks from the front and its helpers from the back: each
// keeps its half.
func mirrored(i, n int) int {
	half := n / 2
	if i < half {
		return half - 1 - i
	}
	return half + n - 1 - i
}
