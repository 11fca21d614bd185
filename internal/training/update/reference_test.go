package update

import "math"

// reference is one rule written out for single elements, from TensorFlow's
// documentation and the papers, independent of the kernels. s has the element's
// slots by name; t counts updates from 1; sparse rules skip absent rows.
type reference struct {
	name   string
	params map[string]any
	step   func(w, g float64, s map[string]float64, t int) float64
	init   map[string]float64
	// absent says that a sparse gradient does not change rows without a gradient;
	// otherwise they are updated with a gradient of zero.
	absent bool
}

const rate = 0.05

func references() []reference {
	return []reference{
		{name: "sgd", absent: true, step: func(w, g float64, _ map[string]float64, _ int) float64 { return w - rate*g }},
		{name: "sgd", params: map[string]any{"weight_decay": 0.1},
			step: func(w, g float64, _ map[string]float64, _ int) float64 { return w - rate*0.1*w - rate*g }},
		{name: "momentum", absent: true, step: refMomentum(0.9, false)},
		{name: "momentum", params: map[string]any{"momentum": 0.8, "nesterov": true}, absent: true, step: refMomentum(0.8, true)},
		{name: "keras_sgd", absent: true, step: func(w, g float64, _ map[string]float64, _ int) float64 { return w - rate*g }},
		{name: "keras_sgd", params: map[string]any{"momentum": 0.9}, absent: true, step: refKerasMomentum(0.9, false)},
		{name: "keras_sgd", params: map[string]any{"momentum": 0.7, "nesterov": true}, absent: true, step: refKerasMomentum(0.7, true)},
		{name: "adam", step: refAdam(0.9, 0.999, 1e-8, 0)},
		{name: "adam", params: map[string]any{"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1}, step: refAdam(0.5, 0.9, 0.1, 0)},
		{name: "adamw", step: refAdam(0.9, 0.999, 1e-8, 0.01)},
		{name: "keras_adam", step: refAdam(0.9, 0.999, 1e-7, 0)},
		{name: "keras_adamw", step: refAdam(0.9, 0.999, 1e-7, 0.004)},
		{name: "amsgrad", step: refAMSGrad(0.9, 0.999, 1e-7)},
		{name: "adamax", params: map[string]any{"beta2": 0.99, "weight_decay": 0.1}, step: refAdamax(0.9, 0.99, 1e-7, 0.1)},
		{name: "nadam", step: refNadam(0.9, 0.999, 1e-7)},
		{name: "lion", step: refLion(0.9, 0.99)},
		{name: "adadelta", step: refAdadelta(0.95, 1e-7)},
		{name: "adagrad", absent: true, init: map[string]float64{"a": 0.1}, step: refAdagrad(0)},
		{name: "adagrad", params: map[string]any{"initial_accumulator_value": 2.0}, absent: true, init: map[string]float64{"a": 2}, step: refAdagrad(0)},
		{name: "keras_adagrad", absent: true, init: map[string]float64{"a": 0.1}, step: refAdagrad(1e-7)},
		{name: "rmsprop", absent: true, init: map[string]float64{"ms": 1}, step: refRMSProp(0.9, 0, 1e-10, false)},
		{name: "rmsprop", params: map[string]any{"rho": 0.8, "momentum": 0.5, "epsilon": 1e-3}, absent: true, init: map[string]float64{"ms": 1}, step: refRMSProp(0.8, 0.5, 1e-3, false)},
		{name: "rmsprop", params: map[string]any{"centered": true, "momentum": 0.5, "epsilon": 1e-3}, absent: true, init: map[string]float64{"ms": 1}, step: refRMSProp(0.9, 0.5, 1e-3, true)},
		{name: "keras_rmsprop", step: refKerasRMSProp(0.9, 1e-7, false)},
		{name: "keras_rmsprop", params: map[string]any{"centered": true, "epsilon": 1e-2}, step: refKerasRMSProp(0.9, 1e-2, true)},
		{name: "keras_rmsprop", params: map[string]any{"momentum": 0.5}, absent: true, step: refRMSProp(0.9, 0.5, 1e-7, false)},
		{name: "keras_rmsprop", params: map[string]any{"momentum": 0.5, "centered": true, "epsilon": 1e-3}, absent: true, step: refRMSProp(0.9, 0.5, 1e-3, true)},
		{name: "ftrl", absent: true, init: map[string]float64{"a": 0.1}, step: refFtrl(0.5, 0, 0, 0)},
		{name: "ftrl", params: map[string]any{"l1": 0.02, "l2": 0.03}, absent: true, init: map[string]float64{"a": 0.1}, step: refFtrl(0.5, 0.02, 0.03, 0)},
		{name: "ftrl", params: map[string]any{"l1": 0.02, "l2": 0.03, "l2_shrinkage": 0.1}, absent: true, init: map[string]float64{"a": 0.1}, step: refFtrl(0.5, 0.02, 0.03, 0.1)},
		{name: "ftrl", params: map[string]any{"learning_rate_power": -0.3, "l1": 0.01}, absent: true, init: map[string]float64{"a": 0.1}, step: refFtrl(0.3, 0.01, 0, 0)},
		{name: "keras_ftrl", params: map[string]any{"beta": 0.2}, absent: true, init: map[string]float64{"a": 0.1}, step: refFtrl(0.5, 0, 0.2/(2*rate), 0)},
	}
}

func refMomentum(mu float64, nesterov bool) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["m"] = mu*s["m"] + g
		if nesterov {
			return w - rate*(g+mu*s["m"])
		}
		return w - rate*s["m"]
	}
}

func refKerasMomentum(mu float64, nesterov bool) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["m"] = mu*s["m"] - rate*g
		if nesterov {
			return w + mu*s["m"] - rate*g
		}
		return w + s["m"]
	}
}

func refAdam(b1, b2, epsilon, decay float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, t int) float64 {
		w *= 1 - rate*decay
		s["m"] = b1*s["m"] + (1-b1)*g
		s["v"] = b2*s["v"] + (1-b2)*g*g
		corrected := rate * math.Sqrt(1-math.Pow(b2, float64(t))) / (1 - math.Pow(b1, float64(t)))
		return w - corrected*s["m"]/(math.Sqrt(s["v"])+epsilon)
	}
}

func refAdagrad(epsilon float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["a"] += g * g
		return w - rate*g/(math.Sqrt(s["a"])+epsilon)
	}
}

func refRMSProp(rho, mu, epsilon float64, centered bool) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["ms"] = rho*s["ms"] + (1-rho)*g*g
		d := s["ms"] + epsilon
		if centered {
			s["mg"] = rho*s["mg"] + (1-rho)*g
			d -= s["mg"] * s["mg"]
		}
		s["mom"] = mu*s["mom"] + rate*g/math.Sqrt(d)
		return w - s["mom"]
	}
}

func refKerasRMSProp(rho, epsilon float64, centered bool) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		s["ms"] = rho*s["ms"] + (1-rho)*g*g
		d := s["ms"]
		if centered {
			s["mg"] = rho*s["mg"] + (1-rho)*g
			d -= s["mg"] * s["mg"]
		}
		return w - rate*g/(math.Sqrt(d)+epsilon)
	}
}

// refFtrl is the closed form of algorithm 1 of McMahan et al. 2013, with
// TensorFlow's l2 (twice the paper's half) and shrinkage.
func refFtrl(power, l1, l2, shrinkage float64) func(w, g float64, s map[string]float64, t int) float64 {
	return func(w, g float64, s map[string]float64, _ int) float64 {
		next := s["a"] + g*g
		sigma := (math.Pow(next, power) - math.Pow(s["a"], power)) / rate
		s["z"] += g + 2*shrinkage*w - sigma*w
		s["a"] = next
		if math.Abs(s["z"]) <= l1 {
			return 0
		}
		return (math.Copysign(l1, s["z"]) - s["z"]) / (math.Pow(next, power)/rate + 2*l2)
	}
}
