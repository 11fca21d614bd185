package trees

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Loss computes the gradients and the diagonals of the hessians of examples' losses with respect to their logits. It is
// called from several goroutines.
type Loss interface {
	// Gradients sets out, [len(rows), dim, 2], to gradients and hessians of examples whose outputs are logits,
	// [len(rows), dim]. It may overwrite logits, whose capacity has room for a multiple of Lanes.
	Gradients(rows []int32, logits, out []float32)
}

// Lanes is the multiple that the number of logits is rounded up to, so that a vector kernel treats all of them alike.
const Lanes = 64

// Squared is the squared error of labels [rows, dim], weighted.
type Squared struct {
	Labels  []float32
	Weights []float32 // [rows]; nil: all 1
	Dim     int
}

// Gradients are 2w(logit-label), 2w.
func (l *Squared) Gradients(rows []int32, logits, out []float32) {
	if l.Dim == 1 && l.Weights == nil {
		for i, r := range rows {
			out[2*i], out[2*i+1] = 2*(logits[i]-l.Labels[r]), 2
		}
		return
	}
	at := 0
	for _, r := range rows {
		w := 2 * weight(l.Weights, r)
		for _, label := range l.Labels[int(r)*l.Dim : (int(r)+1)*l.Dim] {
			out[2*at], out[2*at+1] = w*(logits[at]-label), w
			at++
		}
	}
}

// Logistic is the sigmoid cross-entropy of labels [rows, dim] from 0 to 1, weighted.
type Logistic struct {
	Labels  []float32
	Weights []float32 // [rows]; nil: all 1
	Dim     int
}

// Gradients are w(p-label), wp(1-p), where p is the probability.
func (l *Logistic) Gradients(rows []int32, logits, out []float32) {
	n := len(rows) * l.Dim
	p := logits[:min((n+Lanes-1)/Lanes*Lanes, cap(logits))]
	kernels.Unary(kernels.Sigmoid, p, p)
	if l.Dim == 1 && l.Weights == nil {
		for i, r := range rows {
			out[2*i], out[2*i+1] = p[i]-l.Labels[r], p[i]*(1-p[i])
		}
		return
	}
	at := 0
	for _, r := range rows {
		w := weight(l.Weights, r)
		for _, label := range l.Labels[int(r)*l.Dim : (int(r)+1)*l.Dim] {
			out[2*at], out[2*at+1] = w*(p[at]-label), w*p[at]*(1-p[at])
			at++
		}
	}
}

// Softmax is the softmax cross-entropy of class ids, weighted.
type Softmax struct {
	Classes []int64
	Weights []float32 // [rows]; nil: all 1
	Dim     int
}

// Gradients are w(p-1) for the example's class and wp for the others, and wp(1-p).
func (l *Softmax) Gradients(rows []int32, logits, out []float32) {
	for i, r := range rows {
		x := logits[i*l.Dim : (i+1)*l.Dim]
		largest, sum := x[0], 0.0
		for _, v := range x {
			largest = max(largest, v)
		}
		for _, v := range x {
			sum += math.Exp(float64(v - largest))
		}
		w := weight(l.Weights, r)
		for k, v := range x {
			p := float32(math.Exp(float64(v-largest)) / sum)
			g := p
			if int64(k) == l.Classes[r] {
				g--
			}
			at := (i*l.Dim + k) * 2
			out[at], out[at+1] = w*g, w*p*(1-p)
		}
	}
}

// Given has gradients and hessians computed elsewhere, [rows, dim] each. Hessians below 0 count as 0.
type Given struct {
	G, H []float32
	Dim  int
}

// Gradients copies the gradients of the rows.
func (l *Given) Gradients(rows []int32, _, out []float32) {
	at := 0
	for _, r := range rows {
		for k := int(r) * l.Dim; k < (int(r)+1)*l.Dim; k++ {
			out[at], out[at+1] = l.G[k], max(l.H[k], 0)
			at += 2
		}
	}
}

func weight(weights []float32, row int32) float32 {
	if weights == nil {
		return 1
	}
	return weights[row]
}
