package kernels

import "unsafe"

// GemmArgs is one matrix product C = Alpha*op(A)*op(B) + Beta*C, optionally followed by + Bias and max(C, 0).
// Matrices are row-major; LDA, LDB and LDC are the distances between rows in elements.
type GemmArgs[T Float] struct {
	M, N, K int // op(A) is [M, K], op(B) is [K, N], C is [M, N]

	Alpha  T
	A      []T // [M, K], or [K, M] when TransA
	LDA    int
	TransA bool
	B      []T // [K, N], or [N, K] when TransB
	LDB    int
	TransB bool

	Beta T // 0 overwrites C, even NaN
	C    []T
	LDC  int

	Bias []T // nil, or N elements added to every row
	Relu bool
}

// Gemm computes the product on all workers. C must not overlap A or B. The order of the additions within one element of C
// depends only on the sizes and layouts of the matrices. These include M: a single row can differ by rounding from the same
// row among others.
func Gemm[T Float](g GemmArgs[T]) {
	g.check()
	parallel := g.M*g.N*g.K >= gemmParallelFrom && Threads() > 1
	if g.M == 0 || g.N == 0 || gemmSmall(&g, parallel) {
		return
	}
	j := gemmJobs[T]().get()
	j.gemm(g, parallel)
	j.GemmArgs = GemmArgs[T]{}
	gemmJobs[T]().put(j)
}

// gemmSerial is Gemm on the calling goroutine, for kernels that are parallel themselves.
func gemmSerial[T Float](g GemmArgs[T]) {
	g.check()
	if g.M == 0 || g.N == 0 || gemmSmall(&g, false) {
		return
	}
	j := gemmJobs[T]().get()
	j.gemm(g, false)
	j.GemmArgs = GemmArgs[T]{}
	gemmJobs[T]().put(j)
}

// gemmParallelFrom is the least M*N*K of a product that is worth more than one thread.
const gemmParallelFrom = 400_000

// check panics like an out-of-range index if a slice is shorter than its matrix: the kernels do not check bounds.
func (g *GemmArgs[T]) check() {
	rowsA, colsA, rowsB, colsB := g.M, g.K, g.K, g.N
	if g.TransA {
		rowsA, colsA = colsA, rowsA
	}
	if g.TransB {
		rowsB, colsB = colsB, rowsB
	}
	checkMatrix(g.A, rowsA, colsA, g.LDA)
	checkMatrix(g.B, rowsB, colsB, g.LDB)
	checkMatrix(g.C, g.M, g.N, g.LDC)
	if g.Bias != nil {
		_ = g.Bias[:g.N]
	}
}

func checkMatrix[T Float | uint16](x []T, rows, cols, ld int) {
	if rows < 0 || cols < 0 || (rows > 1 && ld < cols) {
		panic("kernels: matrix with a negative size or a row stride below its width")
	}
	if rows > 0 && cols > 0 {
		_ = x[(rows-1)*ld+cols-1]
	}
}

var (
	gemmJobs32 freelist[gemmJob[float32]]
	gemmJobs64 freelist[gemmJob[float64]]
)

func gemmJobs[T Float]() *freelist[gemmJob[T]] {
	if is32[T]() {
		return (*freelist[gemmJob[T]])(unsafe.Pointer(&gemmJobs32))
	}
	return (*freelist[gemmJob[T]])(unsafe.Pointer(&gemmJobs64))
}

// gemm goes through blocks of C's columns and blocks of K, and packs B for each pair where that pays.
func (j *gemmJob[T]) gemm(g GemmArgs[T], parallel bool) {
	j.GemmArgs = g
	j.prescale()
	if g.K == 0 || g.Alpha == 0 {
		j.sumless()
		return
	}
	if j.packed == nil && j.thin(parallel) {
		return
	}
	j.plan(parallel)
	if j.spreads() {
		j.spread(parallel)
	}
	j.backward = j.streams() && j.packed.uses.Add(1)%2 == 0
	for n := 0; n < g.N; n += j.nc {
		for k := 0; k < g.K; k += j.ks {
			j.work = block{n, min(n+j.nc, g.N), k, min(k+j.ks, g.K)}
			if j.sourceB == shared {
				j.phase = packPhase
				j.dispatch(ceilDiv(j.work.n1-j.work.n0, j.nr), parallel)
			}
			j.phase = multiplyPhase
			j.dispatch(j.mTasks*j.nTasks, parallel)
		}
	}
}

func (j *gemmJob[T]) dispatch(n int, parallel bool) {
	if parallel {
		parallelEach(n, j)
		return
	}
	for i := range n {
		j.Run(i, i+1)
	}
}

// prescale multiplies C by Beta, so that the tiles only add or overwrite.
func (j *gemmJob[T]) prescale() {
	overwritten := j.K > 0 && j.Alpha != 0
	if j.Beta == 1 || (j.Beta == 0 && overwritten) {
		return
	}
	for r := range j.M {
		row := j.C[r*j.LDC:][:j.N]
		if j.Beta == 0 {
			Fill(row, 0)
		} else {
			scaleRange(row, j.Beta)
		}
	}
}

// sumless finishes a product whose sums are empty.
func (j *gemmJob[T]) sumless() {
	for r := 0; r < j.M && j.add != nil; r++ {
		copy(j.C[r*j.LDC:][:j.N], j.add[r*j.LDC:])
	}
	j.epilogue(0, j.M, 0, j.N)
}

// epilogue adds the bias and clips below zero in C[m0:m1, n0:n1].
func (j *gemmJob[T]) epilogue(m0, m1, n0, n1 int) {
	if j.Bias == nil && !j.Relu {
		return
	}
	if j.Bias != nil {
		c := j.C[m0*j.LDC+n0:]
		rowMap[T]{dst: c, x: c, ld: j.LDC, shift: j.Bias[n0:n1], relu: j.Relu}.apply(m1 - m0)
		return
	}
	for r := m0; r < m1; r++ {
		row := j.C[r*j.LDC:][n0:n1]
		unaryRange(Relu, row, row)
	}
}
