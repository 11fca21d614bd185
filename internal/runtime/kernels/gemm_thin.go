package kernels

// thin does a matrix-vector product that needs no tiles, and reports whether it was one.
func (j *gemmJob[T]) thin(parallel bool) bool {
	if j.N == 1 && j.LDC == 1 && j.M > 1 {
		j.turn(parallel)
		return true
	}
	if j.M != 1 || !j.TransB || (j.TransA && j.LDA != 1) {
		return false
	}
	j.phase = dotPhase
	j.backward = !parallel && !j.backward
	if parallel {
		Parallel(j.N, ceilDiv(rowGrain(j.K, reduceBlock), dotGroup)*dotGroup, j)
	} else {
		j.Run(0, j.N)
	}
	j.epilogue(0, 1, 0, j.N)
	return true
}

// turn computes a column as its transpose, a row: C' = op(B)' op(A)'.
func (j *gemmJob[T]) turn(parallel bool) {
	g := j.GemmArgs
	bias, relu := g.Bias, g.Relu
	j.gemm(GemmArgs[T]{M: 1, N: g.M, K: g.K, Alpha: g.Alpha, A: g.B, LDA: g.LDB, TransA: !g.TransB, B: g.A, LDB: g.LDA,
		TransB: !g.TransA, Beta: g.betaAfterPrescale(), C: g.C, LDC: g.M}, parallel)
	c := g.C[:g.M]
	if bias != nil {
		addScalarRange(c, c, bias[0])
	}
	if relu {
		unaryRange(Relu, c, c)
	}
}

// betaAfterPrescale is the factor of the old C after prescale: 1 to add it, or 0.
func (g *GemmArgs[T]) betaAfterPrescale() T {
	if g.Beta == 0 {
		return 0
	}
	return 1
}

// dotGroup is the number of rows of B that are multiplied together. Ranges of rows start at a multiple of it, because the last few
// rows add in another order.
const dotGroup = 4

// dots computes elements [lo, hi) of a row of C, each a dot product of A with a row of B. Every second product of one thread goes
// backwards, and so begins with the rows of B that the product before has left in the cache.
func (j *gemmJob[T]) dots(lo, hi int) {
	step := max(dotGroup, copyCall/j.K/dotGroup*dotGroup)
	if !j.backward {
		for ; lo < hi; lo += step {
			j.dotRun(lo, min(lo+step, hi))
		}
		return
	}
	for at := lo + (hi-lo-1)/step*step; at >= lo; at -= step {
		j.dotRun(at, min(at+step, hi))
	}
}

// dotRun is dots for rows that one call can do, or for long rows with a call for each piece.
func (j *gemmJob[T]) dotRun(lo, hi int) {
	a := j.A[:j.K]
	if hi-lo >= dotGroup && j.K <= copyCall {
		lo += simdDotRows(j.C[lo:hi], j.B[lo*j.LDB:], j.LDB, a, j.Alpha, j.Beta != 0, j.backward)
	}
	for n := lo; n < hi; n++ {
		var sum T
		row := j.B[n*j.LDB:][:j.K]
		for k := 0; k < j.K; k += copyCall {
			end := min(k+copyCall, j.K)
			sum += dotRange(a[k:end], row[k:end])
		}
		v := j.Alpha * sum
		if j.Beta != 0 {
			v += j.C[n]
		}
		j.C[n] = v
	}
}
