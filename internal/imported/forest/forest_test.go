package forest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/format/yggdrasil"
	"github.com/goestimator/goestimator/internal/imported/forest"
)

// stump is a regression of one boosted tree: -1 below the threshold, 1 from it on.
func stump(threshold float32, whenNA bool) *yggdrasil.Model {
	return &yggdrasil.Model{Task: yggdrasil.Regression, Boosted: true, Loss: yggdrasil.SquaredError, Initial: []float32{0.5}, TreesPerStep: 1, Inputs: []int{1},
		Columns: []yggdrasil.Column{{Name: "label", Kind: yggdrasil.Numerical}, {Name: "x", Kind: yggdrasil.Numerical, Mean: 2}},
		Nodes:   []yggdrasil.Node{{Test: yggdrasil.Higher, Column: 1, Threshold: threshold, Positive: 2, WhenNA: whenNA}, {Value: -1}, {Value: 1}}, Roots: []int32{0}}
}

func Example() {
	f, err := forest.New(stump(3, false), false)
	if err != nil {
		panic(err)
	}
	out := make([]float32, 3)
	if err := f.Predict(context.Background(), &forest.Batch{Rows: 3, Numbers: []float32{1, 3, 7}}, out); err != nil {
		panic(err)
	}
	fmt.Println(out)
	// Output: [-0.5 1.5 1.5]
}

// TestMissing: a missing number is replaced by the mean if all conditions agree with that; otherwise they decide as they were trained to.
func TestMissing(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		threshold float32
		whenNA    bool
		want      float32
	}{{3, false, -0.5}, {1, true, 1.5}, {3, true, 1.5}, {1, false, -0.5}} {
		for _, leaves := range []bool{false, true} {
			f, err := forest.New(stump(c.threshold, c.whenNA), leaves)
			if err != nil {
				t.Fatal(err)
			}
			out := []float32{0}
			if err := f.Predict(t.Context(), &forest.Batch{Rows: 1, Numbers: []float32{nan}}, out); err != nil || out[0] != c.want {
				t.Errorf("threshold %v, missing %v: got %v, expected %v: %v", c.threshold, c.whenNA, out[0], c.want, err)
			}
		}
	}
}

// TestBatches: batches of all sizes give the same rows, also with several threads; invalid batches are refused.
func TestBatches(t *testing.T) {
	f, err := forest.New(stump(0, false), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 31, 32, 33, 1000} {
		b := &forest.Batch{Rows: n, Numbers: make([]float32, n)}
		for i := range n {
			b.Numbers[i] = float32(i%3 - 1)
		}
		out, leaves := make([]float32, n), make([]int32, n)
		if err := errors.Join(f.Predict(t.Context(), b, out), f.Leaves(t.Context(), b, leaves)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if high := i%3 > 0; high != (out[i] == 1.5) || high != (leaves[i] == 1) {
				t.Fatalf("%d rows: row %d of %v has %v, leaf %d", n, i, b.Numbers[i], out[i], leaves[i])
			}
		}
		b.Rows++
		if err := f.Predict(t.Context(), b, make([]float32, n+1)); err == nil {
			t.Errorf("%d values of %d rows were taken", n, n+1)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := f.Predict(ctx, &forest.Batch{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected that it was cancelled", err)
	}
}

// TestSets: a set is the values between two splits, which must be in range.
func TestSets(t *testing.T) {
	m := stump(0, true)
	m.Columns[1] = yggdrasil.Column{Name: "words", Kind: yggdrasil.Set, Categories: 10}
	m.Nodes[0] = yggdrasil.Node{Test: yggdrasil.AnyBit, Column: 1, Positive: 2, End: 1, WhenNA: true}
	m.Bitmaps = []byte{1 << 3} // of category 3; 8 and 9 have no bits
	f, err := forest.New(m, false)
	if err != nil {
		t.Fatal(err)
	}
	b := &forest.Batch{Rows: 6, Sets: []int32{3, 1, 2, 8, 9, -1, 99, 4, 3}, Splits: []int64{0, 1, 5, 5, 6, 7, 9}}
	out := make([]float32, 6)
	if err := f.Predict(t.Context(), b, out); err != nil || !slices.Equal(out, []float32{1.5, -0.5, -0.5, 1.5, -0.5, 1.5}) {
		t.Errorf("got %v: %v", out, err)
	}
	for _, wrong := range [][]int64{nil, {0, 1, 5, 5, 6, 7, 10}, {0, 1, 5, 4, 6, 7, 9}, {-1, 1, 5, 5, 6, 7, 9}} {
		b.Splits = wrong
		if err := f.Predict(t.Context(), b, out); err == nil {
			t.Errorf("splits %v were taken", wrong)
		}
	}
}
