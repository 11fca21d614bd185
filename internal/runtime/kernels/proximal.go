package kernels

// AdadeltaParams are the constants of Adadelta.
type AdadeltaParams[T Float] struct{ LR, Rho, Epsilon T }

// Adadelta sets a = rho*a + (1-rho)*g*g, step = sqrt(u+epsilon)/sqrt(a+epsilon)*g, w -= lr*step and
// u = rho*u + (1-rho)*step*step (ResourceApplyAdadelta; Zeiler 2012).
func Adadelta[T Float](w, a, u, g []T, p AdadeltaParams[T]) {
	a, u, g = a[:len(w)], u[:len(w)], g[:len(w)]
	for i, d := range g {
		a[i] = a[i]*p.Rho + d*d*(1-p.Rho)
		step := sqrt(u[i]+p.Epsilon) / sqrt(a[i]+p.Epsilon) * d
		w[i] -= step * p.LR
		u[i] = u[i]*p.Rho + step*step*(1-p.Rho)
	}
}

// ProximalParams are the constants of the proximal rules (Duchi and Singer 2009).
type ProximalParams[T Float] struct{ LR, L1, L2 T }

// ProximalSGD is gradient descent followed by shrinkage by l1 and l2 (ResourceApplyProximalGradientDescent).
func ProximalSGD[T Float](w, g []T, p ProximalParams[T]) {
	g = g[:len(w)]
	for i, d := range g {
		w[i] = p.shrink(w[i]-d*p.LR, p.LR)
	}
}

// ProximalAdagrad is ProximalSGD with Adagrad's rates: a += g*g (ResourceApplyProximalAdagrad).
func ProximalAdagrad[T Float](w, a, g []T, p ProximalParams[T]) {
	a, g = a[:len(w)], g[:len(w)]
	for i, d := range g {
		a[i] += d * d
		rate := p.LR / sqrt(a[i])
		w[i] = p.shrink(w[i]-d*rate, rate)
	}
}

// shrink moves w towards 0, by amounts that depend on the rate.
func (p ProximalParams[T]) shrink(w, rate T) T {
	if p.L1 > 0 {
		w = sign(w) * max(abs(w)-rate*p.L1, 0)
	}
	return w / (1 + rate*p.L2)
}
