package kernels_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/kernels"
)

// update is one rule on the host and its constants on the GPU.
type update struct {
	rule  kernels.Rule
	k     []float32
	slots int // that there are, from slot 0 on
	flag  bool
	host  func(w, g []float32, s [3][]float32)
}

func updates() []update {
	adam := host.AdamParams[float32]{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7, Decay: 0.01}
	nadam := adam
	nadam.Nesterov = true
	adamK := []float32{adam.LR, adam.Beta1, 1 - adam.Beta1, 1 - adam.Beta2, adam.Epsilon, 1 - adam.Decay}
	rms := host.RMSPropParams[float32]{LR: 0.01, Rho: 0.9, Momentum: 0.8, Epsilon: 1e-3}
	outside := rms
	outside.EpsilonOutside = true
	rmsK := []float32{rms.LR, 1 - rms.Rho, rms.Momentum, rms.Epsilon}
	ftrl := host.FtrlParams[float32]{LR: 0.1, L1: 0.05, L2: 0.02, L2Shrinkage: 0.01, LRPower: -0.5}
	steep := ftrl
	steep.LRPower = -0.7
	ftrlK := func(p host.FtrlParams[float32]) []float32 {
		return []float32{p.LR, p.L1, p.L2, p.L2Shrinkage, p.LRPower}
	}
	return []update{
		{kernels.SGD, []float32{0.1}, 0, false, func(w, g []float32, _ [3][]float32) { host.SGD(w, g, 0.1) }},
		{kernels.Momentum, []float32{0.1, 0.9}, 1, false, func(w, g []float32, s [3][]float32) { host.Momentum(w, s[0], g, 0.1, 0.9, false) }},
		{kernels.Momentum, []float32{0.1, 0.9}, 1, true, func(w, g []float32, s [3][]float32) { host.Momentum(w, s[0], g, 0.1, 0.9, true) }},
		{kernels.KerasMomentum, []float32{0.1, 0.9}, 1, false, func(w, g []float32, s [3][]float32) { host.KerasMomentum(w, s[0], g, 0.1, 0.9, false) }},
		{kernels.KerasMomentum, []float32{0.1, 0.9}, 1, true, func(w, g []float32, s [3][]float32) { host.KerasMomentum(w, s[0], g, 0.1, 0.9, true) }},
		{kernels.Adam, adamK, 2, false, func(w, g []float32, s [3][]float32) { host.Adam(w, s[0], s[1], g, adam) }},
		{kernels.Adam, adamK, 2, true, func(w, g []float32, s [3][]float32) { host.Adam(w, s[0], s[1], g, nadam) }},
		{kernels.Adagrad, []float32{0.1, 1e-7}, 1, false, func(w, g []float32, s [3][]float32) { host.AdagradV2(w, s[0], g, 0.1, 1e-7) }},
		{kernels.RMSProp, rmsK, 3, false, func(w, g []float32, s [3][]float32) { host.RMSProp(w, s[0], s[1], s[2], g, rms) }},
		{kernels.RMSProp, rmsK, 2, true, func(w, g []float32, s [3][]float32) { host.RMSProp(w, s[0], s[1], nil, g, outside) }},
		{kernels.RMSProp, rmsK, 1, false, func(w, g []float32, s [3][]float32) { host.RMSProp(w, s[0], nil, nil, g, rms) }},
		{kernels.Ftrl, ftrlK(ftrl), 2, false, func(w, g []float32, s [3][]float32) { host.Ftrl(w, s[0], s[1], g, ftrl) }},
		{kernels.Ftrl, ftrlK(steep), 2, false, func(w, g []float32, s [3][]float32) { host.Ftrl(w, s[0], s[1], g, steep) }},
	}
}

func TestUpdates(t *testing.T) {
	r := newRig(t, "optim")
	const n, scale = 1000, 4
	for i, u := range updates() {
		w := numbers(1, n)
		c := kernels.ConstantsOf(1.0/scale, u.k...)
		call := kernels.Update{Rule: u.rule, Var: up(r, w), Constants: up(r, c[:]), N: n, Flag: u.flag}
		var slots [3][]float32
		for k := range u.slots {
			slots[k] = make([]float32, n)
			for j := range slots[k] {
				if k == 0 && u.rule != kernels.Momentum {
					slots[k][j] = 2 // an accumulator, more than the centered mean's square
				}
			}
			call.Slots[k] = up(r, slots[k])
		}
		for step := range 3 {
			g := numbers(uint64(step+2), n)
			scaled := slices.Clone(g)
			for j := range scaled {
				scaled[j] *= scale
			}
			u.host(w, g, slots)
			call.Grad = up(r, scaled)
			r.run(call.Call())
		}
		name := fmt.Sprintf("%d %s", i, u.rule)
		near(t, name, w, down[float32](r, call.Var, n), 2e-5)
		for k := range u.slots {
			near(t, fmt.Sprintf("%s slot %d", name, k), slots[k], down[float32](r, call.Slots[k], n), 2e-5)
		}
	}
}
