package eager

import (
	"math"
	"testing"
)

// TestSmallAndLarge: special functions where a plain formula loses all digits or takes long. The values are TensorFlow 2.15's.
func TestSmallAndLarge(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"I1e(1e-20)", besselI1e(1e-20), 5e-21},
		{"I1e(-3)", besselI1e(-3.0), -0.19682671329730085},
		{"I0e(39.9)", besselI0e(39.9), 0.06335803550042245},
		{"I0e(40.1)", besselI0e(40.1), 0.06319882471018294},
		{"I1e(40.1)", besselI1e(40.1), 0.062405769073368138},
		{"K0(1e-300)", besselK0(1e-300), 690.8914594138721},
		{"K0(9e-9)", besselK0(9e-9), 18.641972775268606},
		{"K0(1.1e-8)", besselK0(1.1e-8), 18.441302079806448},
		{"K1(9e-9)", besselK1(9e-9), 1 / 9e-9},
		{"Ndtri(1e-20)", quantile(1e-20), -9.262340089798408},
		{"Ndtri(1e-300)", quantile(1e-300), -37.0470962993612},
		{"Ndtri(0.9e-3)", quantile(0.9e-3), -3.121389149359866},
		{"Ndtri(1.1e-3)", quantile(1.1e-3), -3.0618141517617588},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-12*math.Abs(c.want)) {
			t.Errorf("%s: got %v, expected %v", c.name, c.got, c.want)
		}
	}
	if quantile(0.0) != math.Inf(-1) || !math.IsNaN(quantile(-1.0)) || !math.IsInf(besselK0(0.0), 1) {
		t.Error("edges")
	}
}
