package kernels

import "math"

// The updates below are TensorFlow's ResourceApply* kernels: w is the variable, g its gradient, and the other vectors its
// slots. All have the same length, and w and the slots are updated in place.

// SGD sets w -= lr*g (ResourceApplyGradientDescent).
func SGD[T Float](w, g []T, lr T) { Axpy(-lr, g, w) }

// Momentum sets m = momentum*m + g and w -= lr*m, or w -= lr*g + lr*momentum*m when nesterov (ResourceApplyMomentum).
func Momentum[T Float](w, m, g []T, lr, momentum T, nesterov bool) {
	s := optimizerSpan(&doMomentum, w, g, m, nil)
	s.k[0], s.k[1], s.flag = lr, momentum, nesterov
	s.do(len(w), elementGrain)
}

var doMomentum = spanFunc{runMomentum[float32], runMomentum[float64]}

func runMomentum[T Float](s *span[T], lo, hi int) {
	w, g, m, lr, mu := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.k[0], s.k[1]
	if simdMomentum(w, m, g, &s.k, s.flag) {
		return
	}
	for i, d := range g {
		v := mu*m[i] + d
		m[i] = v
		if s.flag {
			w[i] -= lr*d + lr*mu*v
		} else {
			w[i] -= lr * v
		}
	}
}

// KerasMomentum sets m = momentum*m - lr*g and w += m, or w += momentum*m - lr*g when nesterov
// (ResourceApplyKerasMomentum).
func KerasMomentum[T Float](w, m, g []T, lr, momentum T, nesterov bool) {
	s := optimizerSpan(&doKerasMomentum, w, g, m, nil)
	s.k[0], s.k[1], s.flag = lr, momentum, nesterov
	s.do(len(w), elementGrain)
}

var doKerasMomentum = spanFunc{runKerasMomentum[float32], runKerasMomentum[float64]}

func runKerasMomentum[T Float](s *span[T], lo, hi int) {
	w, g, m, lr, mu := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.k[0], s.k[1]
	if simdKerasMomentum(w, m, g, &s.k, s.flag) {
		return
	}
	for i, d := range g {
		v := mu*m[i] - lr*d
		m[i] = v
		if s.flag {
			w[i] += mu*v - lr*d
		} else {
			w[i] += v
		}
	}
}

// AdamParams are the constants of one Adam step.
type AdamParams[T Float] struct {
	LR       T // lr * sqrt(1-beta2^t) / (1-beta1^t), t from 1
	Beta1    T
	Beta2    T
	Epsilon  T // TensorFlow's epsilon-hat: added to sqrt(v) without bias correction
	Nesterov bool
	Decay    T // decoupled weight decay: w *= 1-Decay before the update; AdamW passes lr*weight_decay
}

// Adam sets m += (g-m)*(1-beta1), v += (g*g-v)*(1-beta2), w -= lr*m/(sqrt(v)+epsilon). With nesterov, it uses
// beta1*m+(1-beta1)*g in place of m (ResourceApplyAdam).
func Adam[T Float](w, m, v, g []T, p AdamParams[T]) {
	s := optimizerSpan(&doAdam, w, g, m, v)
	s.k = [6]T{p.LR, p.Beta1, 1 - p.Beta1, 1 - p.Beta2, p.Epsilon, 1 - p.Decay}
	s.flag = p.Nesterov
	s.do(len(w), elementGrain/2)
}

var doAdam = spanFunc{runAdam[float32], runAdam[float64]}

func runAdam[T Float](s *span[T], lo, hi int) {
	w, g, m, v := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.c[lo:hi]
	if !s.flag && simdAdam(w, m, v, g, &s.k) {
		return
	}
	lr, b1, c1, c2, eps, keep := s.k[0], s.k[1], s.k[2], s.k[3], s.k[4], s.k[5]
	for i, d := range g {
		mi := m[i] + (d-m[i])*c1
		vi := v[i] + (d*d-v[i])*c2
		m[i], v[i] = mi, vi
		if s.flag {
			mi = d*c1 + b1*mi
		}
		w[i] = w[i]*keep - mi*lr/(sqrt(vi)+eps)
	}
}

// AdagradV2 sets a += g*g and w -= lr*g/(sqrt(a)+epsilon) (ResourceApplyAdagradV2).
func AdagradV2[T Float](w, a, g []T, lr, epsilon T) {
	s := optimizerSpan(&doAdagrad, w, g, a, nil)
	s.k[0], s.k[1] = lr, epsilon
	s.do(len(w), elementGrain/2)
}

var doAdagrad = spanFunc{runAdagrad[float32], runAdagrad[float64]}

func runAdagrad[T Float](s *span[T], lo, hi int) {
	w, g, a, lr, eps := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.k[0], s.k[1]
	if simdAdagrad(w, a, g, &s.k) {
		return
	}
	for i, d := range g {
		v := a[i] + d*d
		a[i] = v
		w[i] -= lr * d / (sqrt(v) + eps)
	}
}

// RMSPropParams are the constants of RMSProp.
type RMSPropParams[T Float] struct {
	LR, Rho, Momentum, Epsilon T
	// EpsilonOutside divides by sqrt(ms)+epsilon, as Keras does without momentum, instead of sqrt(ms+epsilon).
	EpsilonOutside bool
}

// RMSProp sets ms += (g*g-ms)*(1-rho), mom = momentum*mom + lr*g/sqrt(ms+epsilon), w -= mom (ResourceApplyRMSProp). If mg is
// not nil it is the centered form, with mg += (g-mg)*(1-rho) and ms-mg*mg under the root (ResourceApplyCenteredRMSProp). mom
// may be nil if momentum is 0.
func RMSProp[T Float](w, ms, mom, mg, g []T, p RMSPropParams[T]) {
	s := optimizerSpan(&doRMSProp, w, g, ms, mom)
	s.coef[0] = mg
	if mg != nil {
		_ = mg[:len(w)]
	}
	s.k = [6]T{p.LR, 1 - p.Rho, p.Momentum, p.Epsilon}
	s.flag = p.EpsilonOutside
	s.do(len(w), elementGrain/2)
}

var doRMSProp = spanFunc{runRMSProp[float32], runRMSProp[float64]}

func runRMSProp[T Float](s *span[T], lo, hi int) {
	lr, c, mu, eps := s.k[0], s.k[1], s.k[2], s.k[3]
	mom, mg := s.c, s.coef[0]
	if !s.flag && mom != nil && simdRMSProp(s.dst[lo:hi], s.b[lo:hi], mom[lo:hi], rangeOf(mg, lo, hi), s.a[lo:hi], &s.k) {
		return
	}
	for i := lo; i < hi; i++ {
		d := s.a[i]
		ms := s.b[i] + (d*d-s.b[i])*c
		s.b[i] = ms
		if mg != nil {
			mg[i] += (d - mg[i]) * c
			ms -= mg[i] * mg[i]
		}
		var step T
		if s.flag {
			step = lr * d / (sqrt(ms) + eps)
		} else {
			step = lr * d / sqrt(ms+eps)
		}
		if mom != nil {
			step += mu * mom[i]
			mom[i] = step
		}
		s.dst[i] -= step
	}
}

// rangeOf returns x[lo:hi], or nil for nil.
func rangeOf[T Float](x []T, lo, hi int) []T {
	if x == nil {
		return nil
	}
	return x[lo:hi]
}

// FtrlParams are the constants of Ftrl.
type FtrlParams[T Float] struct {
	LR, L1, L2  T
	L2Shrinkage T    // 0 gives ResourceApplyFtrl, else ResourceApplyFtrlV2
	LRPower     T    // <= 0; -0.5 is the usual one
	ByRate      bool // linear is stored multiplied by LR
}

// Ftrl does McMahan's FTRL-proximal update with the slots accum and linear (ResourceApplyFtrl, ResourceApplyFtrlV2).
func Ftrl[T Float](w, accum, linear, g []T, p FtrlParams[T]) {
	s := optimizerSpan(&doFtrl, w, g, accum, linear)
	s.k = [6]T{p.LR, p.L1, p.L2, p.L2Shrinkage, p.LRPower}
	s.flag = p.ByRate
	s.do(len(w), mathGrain)
}

var doFtrl = spanFunc{runFtrl[float32], runFtrl[float64]}

func runFtrl[T Float](s *span[T], lo, hi int) {
	lr, l1, l2, shrink, power := s.k[0], s.k[1], s.k[2], s.k[3], s.k[4]
	if s.flag {
		runFtrlByRate(s, lo, hi)
		return
	}
	if power == -0.5 && simdFtrl(s.dst[lo:hi], s.b[lo:hi], s.c[lo:hi], s.a[lo:hi], &s.k) {
		return
	}
	for i := lo; i < hi; i++ {
		d, w, old := s.a[i], s.dst[i], s.b[i]
		next := old + d*d
		root := ftrlRoot(next, power)
		linear := s.c[i] + d + 2*shrink*w - (root-ftrlRoot(old, power))/lr*w
		s.b[i], s.c[i] = next, linear
		if abs(linear) > l1 {
			s.dst[i] = (l1*sign(linear) - linear) / (root/lr + 2*l2)
		} else {
			s.dst[i] = 0
		}
	}
}

// runFtrlByRate is runFtrl with linear multiplied by the rate.
func runFtrlByRate[T Float](s *span[T], lo, hi int) {
	lr, l1, l2, shrink, power := s.k[0], s.k[1]*s.k[0], s.k[2]*s.k[0], s.k[3], s.k[4]
	for i := lo; i < hi; i++ {
		d, w, old := s.a[i], s.dst[i], s.b[i]
		next := old + d*d
		root := ftrlRoot(next, power)
		linear := s.c[i] + (d+2*shrink*w)*lr - (root-ftrlRoot(old, power))*w
		s.b[i], s.c[i] = next, linear
		if abs(linear) > l1 {
			s.dst[i] = (l1*sign(linear) - linear) / (root + 2*l2)
		} else {
			s.dst[i] = 0
		}
	}
}

// ftrlRoot returns accum^-power.
func ftrlRoot[T Float](accum, power T) T {
	if power == -0.5 {
		return sqrt(accum)
	}
	return T(math.Pow(float64(accum), -float64(power)))
}

// optimizerSpan checks the lengths and sets the vectors; the second slot may be nil.
func optimizerSpan[T Float](run *spanFunc, w, g, slot1, slot2 []T) *span[T] {
	_, _ = g[:len(w)], slot1[:len(w)]
	if slot2 != nil {
		_ = slot2[:len(w)]
	}
	s := newSpan[T](run)
	s.dst, s.a, s.b, s.c = w, g, slot1, slot2
	return s
}
