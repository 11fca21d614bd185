package special

import (
	"math"
	"testing"
)

// TestSmallAndLarge: special functions at points where a plain formula loses all digits or takes long. The values are TensorFlow 2.15's.
func TestSmallAndLarge(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"I1e(1e-20)", BesselI1e(1e-20), 5e-21},
		{"I1e(-3)", BesselI1e(-3.0), -0.19682671329730085},
		{"I0e(39.9)", BesselI0e(39.9), 0.06335803550042245},
		{"I0e(40.1)", BesselI0e(40.1), 0.06319882471018294},
		{"I1e(40.1)", BesselI1e(40.1), 0.062405769073368138},
		{"K0(1e-300)", BesselK0(1e-300), 690.8914594138721},
		{"K0(9e-9)", BesselK0(9e-9), 18.641972775268606},
		{"K0(1.1e-8)", BesselK0(1.1e-8), 18.441302079806448},
		{"K1(9e-9)", BesselK1(9e-9), 1 / 9e-9},
		{"Ndtri(1e-20)", NormalQuantile(1e-20), -9.262340089798408},
		{"Ndtri(1e-300)", NormalQuantile(1e-300), -37.0470962993612},
		{"Ndtri(0.9e-3)", NormalQuantile(0.9e-3), -3.121389149359866},
		{"Ndtri(1.1e-3)", NormalQuantile(1.1e-3), -3.0618141517617588},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-12*math.Abs(c.want)) {
			t.Errorf("%s: got %v, expected %v", c.name, c.got, c.want)
		}
	}
	if NormalQuantile(0.0) != math.Inf(-1) || !math.IsNaN(NormalQuantile(-1.0)) || !math.IsInf(BesselK0(0.0), 1) {
		t.Error("edges")
	}
}

// TestZetaBelow0: zeta of negative, small and large numbers, as TensorFlow 2.15 computes it.
func TestZetaBelow0(t *testing.T) {
	for _, c := range []struct{ x, q, want float64 }{
		{3, -0.5, 0.41439832211716}, {3, -12.25, -62.00948233372928}, {2, -1.75, 19.30163754452979}, {4, -0.125, 4097.80981758271},
		{2, 1e-3, 1000001.6425331959}, {3, 5e5, 2.000004000004e-12},
	} {
		if got := Zeta(c.x, c.q); !(math.Abs(got-c.want) <= 1e-10*math.Abs(c.want)) {
			t.Errorf("zeta(%v, %v): got %v, expected %v", c.x, c.q, got, c.want)
		}
	}
	if got := Zeta(2.5, -1.5); got == got {
		t.Errorf("zeta(2.5, -1.5): got %v, expected NaN", got)
	}
}
