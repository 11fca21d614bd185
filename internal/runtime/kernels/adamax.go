package kernels

// AdaMaxParams are the constants of one AdaMax step.
type AdaMaxParams[T Float] struct {
	LR                    T // lr / (1-beta1^t), t from 1
	Beta1, Beta2, Epsilon T
}

// AdaMax sets m += (g-m)*(1-beta1), v = max(beta2*v, |g|), w -= lr*m/(v+epsilon) (ResourceApplyAdaMax; Kingma and Ba 2014).
func AdaMax[T Float](w, m, v, g []T, p AdaMaxParams[T]) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i, d := range g {
		m[i] += (d - m[i]) * (1 - p.Beta1)
		v[i] = max(p.Beta2*v[i], abs(d))
		w[i] -= p.LR * (m[i] / (v[i] + p.Epsilon))
	}
}

// Amsgrad is Adam with the largest v so far in place of v (ResourceApplyAdamWithAmsgrad; Reddi et al. 2018). The vectors are
// the variable, m, v and the largest v.
func Amsgrad[T Float](vectors [4][]T, g []T, p AdamParams[T]) {
	w := vectors[0]
	m, v, most := vectors[1][:len(w)], vectors[2][:len(w)], vectors[3][:len(w)]
	for i, d := range g[:len(w)] {
		m[i] += (d - m[i]) * (1 - p.Beta1)
		v[i] += (d*d - v[i]) * (1 - p.Beta2)
		most[i] = max(most[i], v[i])
		w[i] -= m[i] * p.LR / (sqrt(most[i]) + p.Epsilon)
	}
}

// AdagradDAParams are the constants of AdagradDA; Step is the number of the step.
type AdagradDAParams[T Float] struct{ LR, L1, L2, Step T }

// AdagradDA is Adagrad by dual averaging: sum += g, squares += g*g, and w follows from both (ResourceApplyAdagradDA; Duchi, Hazan
// and Singer 2011).
func AdagradDA[T Float](w, sum, squares, g []T, p AdagradDAParams[T]) {
	sum, squares = sum[:len(w)], squares[:len(w)]
	for i, d := range g[:len(w)] {
		sum[i] += d
		squares[i] += d * d
		s := sum[i]
		if p.L1 > 0 {
			s = sign(s) * max(abs(s)-p.Step*p.L1, 0)
		}
		w[i] = -p.LR * s / (p.L2*(p.Step*p.LR) + sqrt(squares[i]))
	}
}

// signStep sets m = beta*m + (1-beta)*g and w -= lr*scale*g. It calls scale with 1 if m and g have the same sign, else with -1.
func signStep[T Float](p *Part[T], scale func(same T) T) {
	w, m, beta := p.W[0], p.W[1], p.S[3]
	for i, d := range p.G[:len(w)] {
		m[i] = m[i]*beta + d*(1-beta)
		w[i] -= p.S[0] * scale(sign(d)*sign(m[i])) * d
	}
}

// adagradStep is AdagradV2 that does not update its slot.
func adagradStep[T Float](w, a, g []T, lr, epsilon T) {
	a = a[:len(w)]
	for i, d := range g[:len(w)] {
		w[i] -= lr * d / (sqrt(a[i]) + epsilon)
	}
}
