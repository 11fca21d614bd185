package kernels

// transposeRows is the height of the transposing kernels' blocks. A lower panel is used in place.
const transposeRows = 8

// packA copies panel p of op(A)[:, k0:k1] to dst: transposed A column by column, tiles.pad elements apart, else row by
// row, panelRow elements apart.
func (j *gemmPart[T]) packA(dst []T, p int) {
	m0, m1 := j.panel(p)
	k, a := j.k1-j.k0, j.A[j.indexA(m0):]
	if j.TransA {
		pad := j.tiles.pad
		// Whole vectors are copied faster than parts of vectors; tiles read only the panel's part.
		n := 0
		if len(a) >= pad {
			n = min(k, (len(a)-pad)/j.LDA+1)
		}
		copyRows(dst, pad, a, j.LDA, pad, n)
		copyRows(dst[n*pad:], pad, a[min(n*j.LDA, len(a)):], j.LDA, m1-m0, k-n)
		return
	}
	copyRows(dst, j.panelRow(), a, j.LDA, k, m1-m0)
}

// packStrips packs strips [lo, hi) of the block in work for all tasks.
func (j *gemmJob[T]) packStrips(lo, hi int) {
	part := gemmPart[T]{j, j.work}
	for s := lo; s < hi; s++ {
		n := part.n0 + s*j.nr
		part.packB(j.bufB[s*j.nr*(part.k1-part.k0):], n, min(j.nr, part.n1-n))
	}
}

// packB copies a strip of op(B)[k0:k1], cols columns from column n on, to rows nr elements apart.
func (j *gemmPart[T]) packB(dst []T, n, cols int) {
	if !j.TransB {
		copyRows(dst, j.nr, j.B[j.k0*j.LDB+n:], j.LDB, cols, j.k1-j.k0)
		return
	}
	transposeRange(dst, j.nr, j.B[n*j.LDB+j.k0:], j.LDB, cols, j.k1-j.k0)
}

// copyCall bounds the elements that one call of assembly copies.
const copyCall = 1 << 15

// copyRows copies count rows of the given width from x to dst. Rows are xs elements apart in x and ds in dst.
func copyRows[T Float](dst []T, ds int, x []T, xs int, width, count int) {
	step := max(1, copyCall/max(width, 1))
	for ; count > 0; count -= step {
		n := min(step, count)
		if !simdCopyRows(dst, ds, x, xs, width, n) {
			for i := range n {
				copy(dst[i*ds:][:width], x[i*xs:])
			}
		}
		if count > step {
			dst, x = dst[step*ds:], x[step*xs:]
		}
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

// transposeStrip is the number of rows of one step of Transpose, which then writes whole cache lines.
const transposeStrip = 16

var doTranspose = spanFunc{runTranspose[float32], runTranspose[float64]}

func runTranspose[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		r := i * transposeStrip
		transposeRange(s.dst[r:], s.rows, s.a[r*s.cols:], s.cols, min(transposeStrip, s.rows-r), s.cols)
	}
}
