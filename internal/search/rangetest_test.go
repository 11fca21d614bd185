package search

import (
	"math"
	"testing"
)

// TestRangeTest: the loss falls around 1e-2 and diverges above 1.
func TestRangeTest(t *testing.T) {
	var r RangeTest
	over := false
	for i := 0; i <= 100 && !over; i++ {
		rate := 1e-6 * math.Pow(1e8, float64(i)/100)
		loss := 3 - 2/(1+math.Exp(-3*math.Log(rate/1e-2))) + rate*rate
		over = r.Add(rate, loss)
	}
	rate, ok := r.Suggest()
	if last := r.Points[len(r.Points)-1].Rate; !over || !ok || rate < 5e-3 || rate > 0.1 || last < 1 || last > 50 {
		t.Errorf("suggests %v, %v; ended (%v) at %v", rate, ok, over, last)
	}
}

func TestRangeTestEdges(t *testing.T) {
	var r RangeTest
	if _, ok := r.Suggest(); ok {
		t.Error("a rate without a step")
	}
	for i := range 20 {
		if r.Add(float64(i+1), 1) {
			t.Error("an even loss is over")
		}
	}
	if rate, ok := r.Suggest(); ok {
		t.Errorf("suggests %v of an even loss", rate)
	}
	if n := len(r.Points); !r.Add(21, math.NaN()) || !r.Add(21, math.Inf(1)) || len(r.Points) != n {
		t.Error("NaN is kept")
	}
	negative := RangeTest{}
	for i := range 50 { // a negative lowest loss sets no bound
		if negative.Add(float64(i+1), -float64(i)) {
			t.Fatal("a negative loss is over")
		}
	}
	if rate, ok := negative.Suggest(); !ok || rate < 5 {
		t.Errorf("suggests %v, %v", rate, ok)
	}
}
