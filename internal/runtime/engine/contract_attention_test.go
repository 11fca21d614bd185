package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// attentionCases have two heads of queries and one of keys and values, causal and with a mask; the tests of kernels cover the rest.
func attentionCases() []*opCase {
	attrs := graph.Attrs{"causal": true, "masked": true, "drop": float32(0)}
	q, k, v, out, sums := "B,4,2,4", "B,5,1,4", "B,5,1,3", "B,4,2,3", "B,2,4"
	three := []operand{feedOf(q), feedOf(k), feedOf(v)}
	return []*opCase{
		{op: "_Attention", attrs: attrs, tol: 20, in: append(three[:3:3], boolOf("B,1,1,5")), out: []graph.Type{fl(out), fl(sums)}, ref: attendedBy},
		{op: "_AttentionGrad", attrs: attrs, tol: 200, in: append(three[:3:3], feedOf(out), feedOf(sums), feedOf(out), boolOf("B,1,1,5")),
			out: []graph.Type{fl(q), fl(k), fl(v)}, ref: attentionGradBy},
	}
}

// eachScore calls f for every query, head and key that the query sees, with their scaled product. mask is [batch, 1, 1, 5].
func eachScore(q, k, mask nd, f func(b, i, h, j int, score float64)) {
	for b := range q.shape[0] {
		for at := range 4 * 2 {
			i, h := at/2, at%2
			for j := 0; j <= i; j++ {
				if mask.data[b*5+j] == 0 {
					continue
				}
				s := 0.0
				for d := range 4 {
					s += q.data[((b*4+i)*2+h)*4+d] * k.data[(b*5+j)*4+d]
				}
				f(b, i, h, j, s/2)
			}
		}
	}
}

func attendedBy(in []nd, out [][]int) []nd {
	y, lse := newND(out[0]), newND(out[1])
	eachScore(in[0], in[1], in[3], func(b, i, h, _ int, s float64) { lse.data[(b*2+h)*4+i] += math.Exp(s) })
	for r, sum := range lse.data {
		lse.data[r] = math.Log(sum)
		if sum == 0 {
			lse.data[r] = math.Inf(1)
		}
	}
	eachScore(in[0], in[1], in[3], func(b, i, h, j int, s float64) {
		p := math.Exp(s - lse.data[(b*2+h)*4+i])
		for d := range 3 {
			y.data[((b*4+i)*2+h)*3+d] += p * in[2].data[(b*5+j)*3+d]
		}
	})
	return []nd{y, lse}
}

// attentionGradBy uses the result and sums that are fed, even if they do not belong to the operands.
func attentionGradBy(in []nd, out [][]int) []nd {
	dq, dk, dv := newND(out[0]), newND(out[1]), newND(out[2])
	y, lse, dy := in[3], in[4], in[5]
	eachScore(in[0], in[1], in[6], func(b, i, h, j int, s float64) {
		p, row := math.Exp(s-lse.data[(b*2+h)*4+i]), ((b*4+i)*2+h)*3
		dp := 0.0
		for d := range 3 {
			dp += dy.data[row+d] * (in[2].data[(b*5+j)*3+d] - y.data[row+d])
			dv.data[(b*5+j)*3+d] += p * dy.data[row+d]
		}
		for d := range 4 {
			dq.data[((b*4+i)*2+h)*4+d] += p * dp / 2 * in[1].data[(b*5+j)*4+d]
			dk.data[(b*5+j)*4+d] += p * dp / 2 * in[0].data[((b*4+i)*2+h)*4+d]
		}
	})
	return []nd{dq, dk, dv}
}
