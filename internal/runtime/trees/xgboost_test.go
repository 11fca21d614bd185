package trees

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// stumpData returns the data of interop/python/trees.py.
func stumpData() (x, y []float32) {
	state := uint32(12345)
	next := func(n uint32) float32 {
		state = state*1664525 + 1013904223
		return float32((state >> 16) % n)
	}
	for range 500 {
		row := []float32{next(40), next(40), next(40), next(40)}
		v := row[0] - row[2]/4 + next(8)
		if row[1] > 20 {
			v += 12
		}
		label := float32(0)
		if v > 24 {
			label = 1
		}
		x, y = append(x, row...), append(y, label)
	}
	return x, y
}

// TestStumpsAreXGBoosts: with trees of one layer, the algorithm is XGBoost's.
func TestStumpsAreXGBoosts(t *testing.T) {
	b, err := os.ReadFile("testdata/xgboost.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Objective      string
			L1, L2, Weight float64
			Margins        []float64
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	x, y := stumpData()
	n := float64(len(y))
	var features []Feature
	for c := range 4 {
		s := NewSketch(1.0 / 256)
		s.Push(x[c:], 4, nil)
		features = append(features, Feature{Name: "x", First: c, Boundaries: s.Boundaries(256)})
	}
	space, err := NewSpace(features, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range golden.Cases {
		c := &Config{Trees: 50, Depth: 1, LearningRate: 0.3, L1: g.L1 / n, L2: g.L2 / n, MinNodeWeight: g.Weight / n, Dim: 1}
		var loss Loss = &Logistic{Labels: y, Dim: 1}
		if g.Objective == "reg:squarederror" { // XGBoost's gradients and hessians are half of ours
			c.L1, c.L2, c.MinNodeWeight = 2*c.L1, 2*c.L2, 2*c.MinNodeWeight
			loss = &Squared{Labels: y, Dim: 1}
		}
		e := trained(t, c, space, x, len(y), loss)
		out := make([]float32, len(y))
		e.Predict(c, x, len(y), 4, out)
		for i, want := range g.Margins {
			if math.Abs(float64(out[i])-want) > 1e-4 {
				t.Errorf("%s, l1 %v, l2 %v: prediction %d is %v, XGBoost's %v", g.Objective, g.L1, g.L2, i, out[i], want)
				break
			}
		}
	}
}

// trained grows all trees in memory.
func trained(t testing.TB, c *Config, s *Space, x []float32, rows int, loss Loss) *Ensemble {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	e := NewEnsemble(c)
	tr, err := NewTrainer(c, s, e, x, rows, loss)
	for err == nil && !e.Done(c) {
		err = tr.Layer()
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}
