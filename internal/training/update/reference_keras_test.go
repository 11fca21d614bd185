package update

import "math"

// The references for rules that are programs; see reference.

func refAMSGrad(b1, b2, epsilon float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, t int) float64 {
		s["m"], s["v"] = b1*s["m"]+(1-b1)*g, b2*s["v"]+(1-b2)*g*g
		s["most"] = max(s["most"], s["v"])
		return w - rate*math.Sqrt(1-math.Pow(b2, float64(t)))/(1-math.Pow(b1, float64(t)))*s["m"]/(math.Sqrt(s["most"])+epsilon)
	}
}

func refAdamax(b1, b2, epsilon, decay float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, t int) float64 {
		w *= 1 - rate*decay
		s["m"], s["u"] = b1*s["m"]+(1-b1)*g, max(b2*s["u"], math.Abs(g))
		return w - rate/(1-math.Pow(b1, float64(t)))*s["m"]/(s["u"]+epsilon)
	}
}

func refNadam(b1, b2, epsilon float64) func(w, g float64, s map[string]float64, t int) float64 {
	momentum := func(t int) float64 { return b1 * (1 - math.Pow(0.96, float64(t))/2) }
	return func(w, g float64, s map[string]float64, t int) float64 {
		s["m"], s["v"] = b1*s["m"]+(1-b1)*g, b2*s["v"]+(1-b2)*g*g
		product := 1.0
		for i := 1; i <= t; i++ {
			product *= momentum(i)
		}
		m := momentum(t+1)*s["m"]/(1-product*momentum(t+1)) + (1-momentum(t))*g/(1-product)
		return w - rate*m/(math.Sqrt(s["v"]/(1-math.Pow(b2, float64(t))))+epsilon)
	}
}

func refLion(b1, b2 float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		step := b1*s["m"] + (1-b1)*g
		s["m"] = b2*s["m"] + (1-b2)*g
		switch {
		case step > 0:
			return w - rate
		case step < 0:
			return w + rate
		}
		return w
	}
}

func refAdadelta(rho, epsilon float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["a"] = rho*s["a"] + (1-rho)*g*g
		d := g * math.Sqrt(s["b"]+epsilon) / math.Sqrt(s["a"]+epsilon)
		s["b"] = rho*s["b"] + (1-rho)*d*d
		return w - rate*d
	}
}
