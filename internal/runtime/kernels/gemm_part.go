package kernels

import "unsafe"

// gemmPart is one thread's part of a product.
type gemmPart[T Float] struct {
	*gemmJob[T]
	block
}

// multiply adds the sums over [k0, k1) to panels [p0, p1) and the part's columns.
func (j *gemmPart[T]) multiply(t *tileArgs, buf *scratch[T], p0, p1 int) {
	j.setup(t)
	panels, strip := j.packPanels(buf, p0, p1)
	for n := j.n0; n < j.n1; n += j.nr {
		cols := min(j.nr, j.n1-n)
		j.stripB(t, n)
		switch j.sourceB {
		case fromHalves:
			j.widenStrip(t, strip, n)
		case perTask:
			t.strip = unsafe.Pointer(&strip[0])
		case perStrip:
			copyRows(strip, j.nr, j.B[j.k0*j.LDB+n:], j.LDB, cols, j.k1-j.k0)
			t.b, t.bK = unsafe.Pointer(&strip[0]), j.nr*int(unsafe.Sizeof(j.Alpha))
		}
		for p := p0; p < p1; p++ {
			m0, m1 := j.panel(p)
			if j.directA {
				t.a = unsafe.Pointer(&j.A[j.indexA(m0)])
			} else {
				t.a = unsafe.Pointer(&panels[(p-p0)*j.panelSize()])
			}
			j.target(t, m0, n)
			if j.sourceB == prepared && j.packed.inRows() {
				j.tiles.halfTile(t, m1-m0, cols)
				continue
			}
			if p > p0 || j.sourceB != perTask {
				j.tiles.tile(t, m1-m0, cols)
				continue
			}
			j.tiles.packingTile(t, m1-m0, cols)
			t.b, t.bK = t.strip, j.tiles.vectors(cols)*j.tiles.lanes*int(unsafe.Sizeof(j.Alpha))
		}
	}
}

// panelSize is the number of elements of a packed panel of A.
func (j *gemmPart[T]) panelSize() int {
	if j.TransA {
		return (j.k1 - j.k0) * j.tiles.pad
	}
	return j.panelRow() * j.tiles.rows
}

// panelRow is the distance between rows of a packed panel of A that is not transposed.
func (j *gemmPart[T]) panelRow() int { return apart[T](j.tiles.rows, j.k1-j.k0) }

// packPanels packs panels of A if that pays, and makes room for a strip of B if tasks pack their own.
func (j *gemmPart[T]) packPanels(buf *scratch[T], p0, p1 int) (panels, strip []T) {
	size, room := 0, 0
	if !j.directA {
		size = (p1 - p0) * j.panelSize()
	}
	if j.sourceB == perTask || j.sourceB == perStrip || j.sourceB == fromHalves {
		room = j.nr * (j.k1 - j.k0)
	}
	all := buf.take(size + room)
	for p := p0; p < p1 && size > 0; p++ {
		j.packA(all[(p-p0)*j.panelSize():], p)
	}
	return all[:size], all[size:]
}

// indexA is the index of op(A)[m, k0] in A.
func (j *gemmPart[T]) indexA(m int) int {
	if j.TransA {
		return j.k0*j.LDA + m
	}
	return m*j.LDA + j.k0
}

// setup sets the arguments that are the same for every tile of a task.
func (j *gemmPart[T]) setup(t *tileArgs) {
	size := int(unsafe.Sizeof(j.Alpha))
	switch {
	case j.TransA && j.directA:
		t.aRow, t.aK = size, j.LDA*size
	case j.TransA:
		t.aRow, t.aK = size, j.tiles.pad*size
	case j.directA:
		t.aRow, t.aK = j.LDA*size, size
	default:
		t.aRow, t.aK = j.panelRow()*size, size
	}
	t.cRow = j.LDC * size
	t.k, t.runs = j.k1-j.k0, 1
	t.alpha = floatBits(j.Alpha)
	t.relu = 0
	if j.Relu && j.k1 == j.K {
		t.relu = 1
	}
}

// stripB points a tile at the strip of B that starts at column n.
func (j *gemmPart[T]) stripB(t *tileArgs, n int) {
	ld := j.nr
	switch j.sourceB {
	case fromHalves:
		return // widenStrip does
	case prepared:
		if j.packed.inRows() {
			rows, wide := j.packed.halfRows(n, j.k0, j.k1)
			t.b, t.bK = unsafe.Pointer(&rows[0]), 2*wide
			return
		}
		strip, wide, _ := j.packed.strip(n)
		t.b, ld = unsafe.Pointer(&strip[j.k0*wide]), wide
	case shared:
		t.b = unsafe.Pointer(&j.bufB[(n-j.work.n0)*(j.k1-j.k0)])
	default:
		t.b, ld = unsafe.Pointer(&j.B[j.k0*j.LDB+n]), j.LDB
	}
	t.bK = ld * int(unsafe.Sizeof(j.Alpha))
}

// target points a tile at C[m, n] and at the values to add to it.
func (j *gemmPart[T]) target(t *tileArgs, m, n int) {
	at := m*j.LDC + n
	t.c, t.old, t.bias, t.scale = unsafe.Pointer(&j.C[at]), nil, nil, nil
	switch {
	case j.k0 > 0 || j.Beta != 0:
		t.old = t.c
	case j.add != nil:
		t.old = unsafe.Pointer(&j.add[at])
	}
	if j.scale != nil {
		t.scale = unsafe.Pointer(&j.scale[n])
	}
	if j.Bias != nil && j.k1 == j.K {
		t.bias = unsafe.Pointer(&j.Bias[n])
	}
}
