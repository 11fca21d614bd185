package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// update is a rule on the host, with its constants on the GPU.
type update struct {
	rule  kernels.Rule
	k     []float32
	slots int // number of slots, from slot 0 on
	flag  bool
	host  func(w, g []float32, s [3][]float32)
}

func updates() []update {
	lr, b1, b2 := float32(0.01), float32(0.9), float32(0.999)
	p1, p2 := b1*b1, b2*b2
	corrected := lr * float32(math.Sqrt(float64(1-p2))) / (1 - p1)
	adam := host.AdamParams[float32]{LR: corrected, Beta1: b1, Beta2: b2, Epsilon: 1e-7}
	nadam := adam
	nadam.Nesterov = true
	adamK := []float32{p1, p2, lr, b1, b2, 1e-7}
	rms := host.RMSPropParams[float32]{LR: 0.01, Rho: 0.9, Momentum: 0.8, Epsilon: 1e-3}
	rmsK := []float32{rms.LR, rms.Rho, rms.Momentum, rms.Epsilon}
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
		{kernels.Adagrad, []float32{0.1}, 1, false, func(w, g []float32, s [3][]float32) { host.AdagradV2(w, s[0], g, 0.1, 0) }},
		{kernels.RMSProp, rmsK, 3, false, func(w, g []float32, s [3][]float32) { host.RMSProp(w, s[0], s[1], s[2], g, rms) }},
		{kernels.RMSProp, rmsK, 2, false, func(w, g []float32, s [3][]float32) { host.RMSProp(w, s[0], s[1], nil, g, rms) }},
		{kernels.Ftrl, ftrlK(ftrl), 2, false, func(w, g []float32, s [3][]float32) { host.Ftrl(w, s[0], s[1], g, ftrl) }},
		{kernels.Ftrl, ftrlK(steep), 2, false, func(w, g []float32, s [3][]float32) { host.Ftrl(w, s[0], s[1], g, steep) }},
	}
}

func TestUpdates(t *testing.T) {
	r := newRig(t, "optim")
	const n = 1000
	for i, u := range updates() {
		w := numbers(1, n)
		up1 := kernels.Update{Rule: u.rule, Var: up(r, w), Fault: up(r, make([]int64, 4)), Flag: u.flag}
		for j, k := range u.k {
			up1.Scalars[j] = up(r, []float32{k})
		}
		var slots [3][]float32
		for k := range u.slots {
			slots[k] = make([]float32, n)
			for j := range slots[k] {
				if k == 0 && u.rule != kernels.Momentum {
					slots[k][j] = 2 // an accumulator, more than the centered mean's square
				}
			}
			up1.Slots[k] = up(r, slots[k])
		}
		for step := range 3 {
			g := numbers(uint64(step+2), n)
			u.host(w, g, slots)
			r.run(up1.Dense(up(r, g), n))
		}
		up1.Fault = up(r, []int64{1, 0, 0, 0})
		r.run(up1.Dense(up(r, w), n)) // changes nothing
		name := fmt.Sprintf("%d %s", i, u.rule)
		near(t, name, w, down[float32](r, up1.Var, n), 2e-5)
		for k := range u.slots {
			near(t, fmt.Sprintf("%s slot %d", name, k), slots[k], down[float32](r, up1.Slots[k], n), 2e-5)
		}
	}
}

// TestGuard checks that guards are 0 only without faults, including later ones.
func TestGuard(t *testing.T) {
	r := newRig(t, "optim")
	none, fault := up(r, make([]int64, 4)), up(r, []int64{7, 0, 0, 0})
	for i, keep := range []uint8{1, 0} {
		flag, out := up(r, []uint8{keep}), up(r, []int64{5})
		for _, c := range []struct {
			what       string
			keep, seen driver.Ptr
			want       int64
		}{{"no fault", flag, none, int64(i)}, {"no fault since", 0, none, int64(i)}, {"a fault since", 0, fault, 7}, {"a fault", flag, fault, 7}} {
			r.run(kernels.Guard(out, c.keep, c.seen))
			if got := down[int64](r, out, 1)[0]; got != c.want {
				t.Errorf("keep %d, %s: got %d, expected %d", keep, c.what, got, c.want)
			}
		}
	}
}

// TestUpdatesTogether checks that a launch for several variables updates them like launches one by one.
func TestUpdatesTogether(t *testing.T) {
	r := newRig(t, "optim")
	lr, mu := up(r, []float32{0.1}), up(r, []float32{0.9})
	make1 := func(i, n int) kernels.Dense {
		return kernels.Dense{Update: kernels.Update{Rule: kernels.Momentum, Var: up(r, numbers(uint64(i), n)), Slots: [3]driver.Ptr{up(r, numbers(uint64(i+50), n))},
			Scalars: [6]driver.Ptr{lr, mu}, Fault: up(r, make([]int64, 4))}, Gradient: up(r, numbers(uint64(i+100), n)), N: n}
	}
	var one, many []kernels.Dense
	for i := range 11 {
		one, many = append(one, make1(i, 1+i*300)), append(many, make1(i, 1+i*300))
		many[i].Fault = many[0].Fault
		r.run(one[i].Dense(one[i].Gradient, one[i].N))
	}
	calls := kernels.Calls(many)
	if len(calls) != 2 {
		t.Errorf("11 updates: expected 2 launches, got %d", len(calls))
	}
	r.run(calls...)
	for i, d := range many {
		near(t, fmt.Sprint("variable ", i), down[float32](r, one[i].Var, d.N), down[float32](r, d.Var, d.N), 0)
		near(t, fmt.Sprint("slot ", i), down[float32](r, one[i].Slots[0], d.N), down[float32](r, d.Slots[0], d.N), 0)
	}
	other, same, reads := many[1], many[0], many[2]
	other.Scalars[0], reads.Gradient = mu, many[0].Var
	rate, follows := many[0], many[1]
	rate.Scalars[0], follows.Scalars[0] = rate.Var, rate.Var
	for name, all := range map[string][]kernels.Dense{"other scalars": {many[0], other}, "one variable twice": {many[0], same}, "a gradient that is written": {many[0], reads},
		"a scalar that is written": {rate, follows}} {
		if n := len(kernels.Calls(all)); n != 2 {
			t.Errorf("%s: expected 2 launches, got %d", name, n)
		}
	}
}

func TestAssignments(t *testing.T) {
	r := newRig(t, "optim")
	fault, bad := up(r, make([]int64, 4)), up(r, []int64{1, 0, 0, 0})
	w, x := up(r, []int64{1, 2, 3}), up(r, []int64{10, 20, 30})
	for _, c := range []struct {
		by   int
		f    driver.Ptr
		want []int64
	}{{1, fault, []int64{11, 22, 33}}, {-1, fault, []int64{1, 2, 3}}, {0, bad, []int64{1, 2, 3}}, {0, fault, []int64{10, 20, 30}}} {
		r.run(kernels.Assignment{Type: tensor.Int64, Var: w, X: x, Fault: c.f, N: 3, By: c.by}.Call())
		if got := down[int64](r, w, 3); !slices.Equal(got, c.want) {
			t.Errorf("by %d: expected %v, got %v", c.by, c.want, got)
		}
	}
	b, y := up(r, []uint16{1, 2, 3}), up(r, []uint16{4, 5, 6})
	r.run(kernels.Assignment{Type: tensor.BFloat16, Var: b, X: y, Fault: fault, N: 3}.Call())
	if got := down[uint16](r, b, 3); !slices.Equal(got, []uint16{4, 5, 6}) {
		t.Errorf("bytes: got %v", got)
	}
}
