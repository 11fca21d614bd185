package kernels

// headGrad computes the gradients of one head of keys and values and of its query heads. It recomputes the weights from LSE.
func (j *attentionJob[T]) headGrad(b, group int, s *scratch[T]) {
	rows := gradQueryBlock
	if j.Causal {
		rows = queryBlock // larger blocks would compute more masked scores
	}
	block := rows * keyBlock
	all := s.take(3*block + rows + keyBlock + dropSlack)
	g := attentionBlockGrad[T]{p: all[:block], dropped: all[block:][:block], dp: all[2*block:][:block], delta: all[3*block:][:rows], buf: all[3*block+rows:]}
	each := j.Heads / j.Groups
	for h := group * each; h < (group+1)*each; h++ {
		for q := 0; q < j.Queries; q += rows {
			g.attentionBlock = attentionBlock[T]{attentionJob: j, b: b, h: h, q0: q, q1: min(q+rows, j.Queries)}
			g.queries()
		}
	}
}

// attentionBlockGrad is the gradient of a block of queries.
type attentionBlockGrad[T Float] struct {
	attentionBlock[T]
	p, dropped, dp []T // [queries, keys]: weights, weights after dropout, their gradient
	delta, buf     []T
}

// queries goes through the blocks of keys that the block of queries sees.
func (g *attentionBlockGrad[T]) queries() {
	rows := g.q1 - g.q0
	for r := range rows {
		at := g.out(g.q0 + r)
		g.delta[r] = dotRange(g.grad.DOut[at:at+g.Width], g.Out[at:at+g.Width])
	}
	for g.k0 = 0; g.k0 < g.last(); g.k0 = g.k1 {
		g.k1 = min(g.k0+keyBlock, g.last())
		g.keys(rows, g.k1-g.k0)
	}
}

// keys adds one block of keys' part of the gradients.
func (g *attentionBlockGrad[T]) keys(rows, cols int) {
	p, dp, weights := g.p[:rows*cols], g.dp[:rows*cols], g.p[:rows*cols]
	g.scores(p)
	for r := range rows {
		row := p[r*cols:][:cols]
		if g.Causal || g.Mask != nil {
			g.hide(row, g.q0+r)
		}
		addScalarRange(row, row, -g.LSE[g.lse(g.q0+r)])
		unaryRange(Exp, row, row)
	}
	if g.Drop > 0 {
		weights = g.dropped[:rows*cols]
		copy(weights, p)
		g.drop(weights, cols, g.buf)
	}
	wide, deep := g.Heads*g.Width, g.Heads*g.Depth
	do := g.grad.DOut[g.out(g.q0):]
	gemmSerial(GemmArgs[T]{M: cols, N: g.Width, K: rows, Alpha: 1, A: weights, LDA: cols, TransA: true, B: do, LDB: wide,
		Beta: 1, C: g.grad.DV[g.value(g.k0):], LDC: g.Groups * g.Width})
	gemmSerial(GemmArgs[T]{M: rows, N: cols, K: g.Width, Alpha: 1, A: do, LDA: wide, B: g.V[g.value(g.k0):], LDB: g.Groups * g.Width, TransB: true,
		C: dp, LDC: cols})
	g.drop(dp, cols, g.buf)
	for r := range rows {
		row := dp[r*cols:][:cols]
		addScalarRange(row, row, -g.delta[r])
		binaryRange(Mul, row, row, p[r*cols:][:cols])
	}
	gemmSerial(GemmArgs[T]{M: rows, N: g.Depth, K: cols, Alpha: g.Scale, A: dp, LDA: cols, B: g.K[g.key(g.k0):], LDB: g.Groups * g.Depth,
		Beta: 1, C: g.grad.DQ[g.query(g.q0):], LDC: deep})
	gemmSerial(GemmArgs[T]{M: cols, N: g.Depth, K: rows, Alpha: g.Scale, A: dp, LDA: cols, TransA: true, B: g.Q[g.query(g.q0):], LDB: deep,
		Beta: 1, C: g.grad.DK[g.key(g.k0):], LDC: g.Groups * g.Depth})
}
