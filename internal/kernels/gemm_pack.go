package kernels

// transposeRows is the height of the blocks that the transposing kernels move; a panel less high is used in place.
const transposeRows = 8

// packA copies panel p of op(A)[:, k0:k1] to dst, column by column, tiles.pad elements apart.
func (j *gemmJob[T]) packA(dst []T, p int) {
	m0, m1 := j.panel(p)
	rows, k := m1-m0, j.k1-j.k0
	if j.TransA {
		for i := range k {
			copy(dst[i*j.tiles.pad:][:rows], j.A[(j.k0+i)*j.LDA+m0:])
		}
		return
	}
	transposeRange(dst, j.tiles.pad, j.A[m0*j.LDA+j.k0:], j.LDA, rows, k)
}

// packB copies one strip of op(B)[k0:k1, n0:n1], nr columns wide, to its place in bufB, row by row.
func (j *gemmJob[T]) packB(strip int) {
	k := j.k1 - j.k0
	n := j.n0 + strip*j.nr
	cols := min(j.nr, j.n1-n)
	dst := j.bufB[strip*j.nr*k:][:j.nr*k]
	if j.TransB {
		transposeRange(dst, j.nr, j.B[n*j.LDB+j.k0:], j.LDB, cols, k)
		return
	}
	for i := range k {
		copy(dst[i*j.nr:][:cols], j.B[(j.k0+i)*j.LDB+n:])
	}
}

// transposeRange sets dst[c*ldd+r] = src[r*lds+c] for the given rows and columns of src.
func transposeRange[T Float](dst []T, ldd int, src []T, lds int, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	_, _ = dst[(cols-1)*ldd+rows-1], src[(rows-1)*lds+cols-1]
	done := 0
	if rows >= transposeRows {
		done = simdTranspose(dst, ldd, src, lds, rows, cols)
	}
	for c := done; c < cols; c++ {
		d := dst[c*ldd:][:rows]
		for r := range d {
			d[r] = src[r*lds+c]
		}
	}
}

// Transpose sets dst [cols, rows] to the transpose of x [rows, cols].
func Transpose[T Float](dst, x []T, rows, cols int) {
	_, _ = dst[:rows*cols], x[:rows*cols]
	if rows*cols == 0 {
		return
	}
	s := newSpan[T](&doTranspose)
	s.dst, s.a, s.rows, s.cols = dst, x, rows, cols
	s.do(ceilDiv(rows, transposeStrip), max(1, elementGrain/max(1, cols*transposeStrip)))
}

// transposeStrip is the rows of one step of Transpose: what they write fills whole cache lines.
const transposeStrip = 16

var doTranspose = spanFunc{runTranspose[float32], runTranspose[float64]}

func runTranspose[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		r := i * transposeStrip
		transposeRange(s.dst[r:], s.rows, s.a[r*s.cols:], s.cols, min(transposeStrip, s.rows-r), s.cols)
	}
}
