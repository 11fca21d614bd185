package trees

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// wide returns enough examples for several chunks.
func wide(rows int) (space *Space, x, labels []float32) {
	return toy(rand.New(rand.NewPCG(3, 9)), rows, 1)
}

func equal(t *testing.T, what string, a, b *Ensemble) {
	t.Helper()
	same := slices.Equal(a.Feature, b.Feature) && slices.Equal(a.Threshold, b.Threshold) && slices.Equal(a.Left, b.Left) &&
		slices.Equal(a.Values, b.Values) && slices.Equal(a.Gains, b.Gains) && slices.Equal(a.State, b.State)
	if !same {
		t.Errorf("%s: the trees differ", what)
	}
}

func TestThreadsChangeNoBit(t *testing.T) {
	space, x, labels := wide(6000)
	c := &Config{Trees: 3, Depth: 5, LearningRate: 0.3, L2: 1e-4, Dim: 1}
	defer kernels.SetThreads(0)
	var first *Ensemble
	for _, threads := range []int{1, 2, 0} {
		kernels.SetThreads(threads)
		e := trained(t, c, space, x, len(labels), &Logistic{Labels: labels, Dim: 1})
		if first == nil {
			first = e
		}
		equal(t, "threads", first, e)
	}
}

// TestTrainingGoesOn: training resumed after any layer grows the same trees.
func TestTrainingGoesOn(t *testing.T) {
	space, x, labels := wide(700)
	for _, c := range []*Config{
		{Trees: 3, Depth: 3, LearningRate: 0.3, Dim: 1, CenterBias: true},
		{Trees: 3, Depth: 4, LearningRate: 0.3, Dim: 1, Pruning: PostPrune, Complexity: 1e-3},
		{Trees: 3, Depth: 4, LearningRate: 0.3, Dim: 1, Pruning: PrePrune, Complexity: 1e-3, CenterBias: true},
	} {
		loss := &Logistic{Labels: labels, Dim: 1}
		whole := trained(t, c, space, x, len(labels), loss)
		e := NewEnsemble(c)
		for layers := 0; !e.Done(c); layers++ {
			tr, err := NewTrainer(c, space, e, x, len(labels), loss)
			if err == nil {
				err = tr.Layer()
			}
			if err == nil {
				err = e.Check(c, space.Width)
			}
			if err != nil || layers > 200 {
				t.Fatal(layers, err)
			}
		}
		equal(t, string(c.Pruning), whole, e)
	}
}

// TestBatchesAreTheTrainers: sums of given gradients grow the trainer's trees.
func TestBatchesAreTheTrainers(t *testing.T) {
	space, x, labels := wide(2500)
	rows := len(labels)
	c := &Config{Trees: 2, Depth: 4, LearningRate: 0.3, L2: 1e-3, Dim: 1, CenterBias: true, Pruning: PostPrune, Complexity: 1e-4}
	want := trained(t, c, space, x, rows, &Squared{Labels: labels, Dim: 1})
	e, k := NewEnsemble(c), &Collector{}
	out := make([]float32, rows)
	for !e.Done(c) {
		e.Predict(c, x, rows, space.Width, out)
		g, h := make([]float32, rows), make([]float32, rows)
		for i := range g {
			g[i], h[i] = 2*(out[i]-labels[i]), 2
		}
		v := make([]float64, e.Size(c, space))
		if err := k.Collect(c, space, e, x, Given{G: g, H: h, Dim: 1}, v); err != nil {
			t.Fatal(err)
		}
		first, end := e.Active(c)
		e.Grow(c, space, &Sums{Nodes: end - first, Dim: 1, Bins: space.Bins, V: v}, float64(rows))
	}
	equal(t, "batches", want, e)
}

func TestPruning(t *testing.T) {
	space, x, labels := wide(500)
	loss := &Logistic{Labels: labels, Dim: 1}
	splits := func(p Pruning, complexity float64) int {
		e := trained(t, &Config{Trees: 2, Depth: 4, LearningRate: 0.3, Dim: 1, Pruning: p, Complexity: complexity}, space, x, len(labels), loss)
		n := 0
		for i, left := range e.Left {
			if int(left) != i {
				n++
				if p == PrePrune && e.Gains[i] < 0 {
					t.Errorf("node %d gains %v", i, e.Gains[i])
				}
			}
		}
		return n
	}
	none, pre, post, all := splits(PruneNone, 0), splits(PrePrune, 3e-3), splits(PostPrune, 3e-3), splits(PostPrune, 100)
	if !(none > post && post >= pre && pre > 0 && all == 0) {
		t.Errorf("splits: none %d, post %d, pre %d, all undone %d", none, post, pre, all)
	}
}

func TestCenterBias(t *testing.T) {
	space, x, labels := wide(2000)
	mean := 0.0
	for _, y := range labels {
		mean += float64(y) / float64(len(labels))
	}
	c := &Config{Trees: 1, Depth: 1, LearningRate: 0.3, Dim: 1, CenterBias: true}
	e := trained(t, c, space, x, len(labels), &Logistic{Labels: labels, Dim: 1})
	if want := math.Log(mean / (1 - mean)); math.Abs(float64(e.Values[0])-want) > 1e-3 {
		t.Errorf("bias %v, expected %v", e.Values[0], want)
	}
}

// TestCenterBiasOfClasses: after a few steps, the biases of many classes, some of them rare, are the logarithms of their shares.
func TestCenterBiasOfClasses(t *testing.T) {
	space, x, _ := wide(1000)
	hundred := append([]int{901}, slices.Repeat([]int{1}, 99)...)
	for _, counts := range [][]int{hundred, {700, 200, 50, 30, 10, 10}, {900, 100}, {970, 10, 10, 10}, {560, 300, 120, 10, 5, 2, 1, 1, 1}, {250, 250, 250, 250}, {600, 399, 1, 0}} {
		var classes []int64
		for k, n := range counts {
			for range n {
				classes = append(classes, int64(k))
			}
		}
		c := &Config{Trees: 1, Depth: 1, LearningRate: 0.3, Dim: len(counts), CenterBias: true, Softmax: true}
		e := trained(t, c, space, x, len(classes), &Softmax{Classes: classes, Dim: c.Dim})
		if steps := e.State[StateSteps] - 1; slices.Min(counts) > 0 && steps >= centerSteps { // the bias of a class without examples does not converge
			t.Errorf("%v: %d steps did not end", counts, steps)
		}
		sum := 0.0
		for _, v := range e.Values[:c.Dim] {
			sum += math.Exp(float64(v))
		}
		for k, n := range counts {
			if got, want := math.Exp(float64(e.Values[k]))/sum, float64(n)/1000; math.Abs(got-want) > 0.005 {
				t.Errorf("%v: class %d has probability %v, expected %v", counts, k, got, want)
			}
		}
	}
}

func TestSoftmaxLearns(t *testing.T) {
	space, x, labels := wide(1000)
	classes := make([]int64, len(labels))
	for i := range classes {
		classes[i] = int64(labels[i]) * 2
	}
	c := &Config{Trees: 20, Depth: 3, LearningRate: 0.3, L2: 1e-3, Dim: 3}
	e := trained(t, c, space, x, len(labels), &Softmax{Classes: classes, Dim: 3})
	out := make([]float32, len(labels)*3)
	e.Predict(c, x, len(labels), space.Width, out)
	right := 0
	for i, y := range classes {
		z := out[i*3 : i*3+3]
		if z[y] == slices.Max(z) {
			right++
		}
	}
	if right < 700 {
		t.Errorf("%d of 1000 are right", right)
	}
}

func TestImportances(t *testing.T) {
	space, x, labels := wide(2000)
	e := trained(t, &Config{Trees: 5, Depth: 3, LearningRate: 0.3, Dim: 1}, space, x, len(labels), &Logistic{Labels: labels, Dim: 1})
	got := e.Importances(space, true)
	sum := 0.0
	for _, v := range got {
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 || got[0] < 0.2 || got[3] < 0.2 || got[2] != 0 {
		t.Errorf("importances %v", got)
	}
}

func TestWrongGradients(t *testing.T) {
	space, x, labels := wide(100)
	labels[17] = float32(math.NaN())
	c := &Config{Trees: 1, Depth: 1, LearningRate: 0.3, Dim: 1}
	if _, err := NewTrainer(c, space, NewEnsemble(c), x, len(labels), &Squared{Labels: labels, Dim: 1}); !errors.Is(err, ErrGradient) {
		t.Errorf("got %v", err)
	}
	if _, err := space.Bin(x[1:], 100); err == nil {
		t.Error("examples of another width: got no error")
	}
}

func TestWrongFeaturesAndEnsembles(t *testing.T) {
	for _, f := range []Feature{{First: -1}, {First: 3}, {First: 1, Width: 3}, {Boundaries: make([]float32, 256)},
		{Boundaries: []float32{1, 1}}, {Boundaries: []float32{float32(math.NaN())}}, {Boundaries: []float32{float32(math.Inf(1))}}} {
		if _, err := NewSpace([]Feature{f}, 3); !errors.Is(err, ErrFeature) {
			t.Errorf("%v: got %v", f, err)
		}
	}
	c := &Config{Trees: 2, Depth: 2, LearningRate: 0.3, Dim: 1}
	for name, spoil := range map[string]func(e *Ensemble){
		"short": func(e *Ensemble) { e.Left = e.Left[1:] }, "loop": func(e *Ensemble) { e.Left[1] = 0 },
		"far": func(e *Ensemble) { e.Left[0] = 7 }, "column": func(e *Ensemble) { e.Left[0], e.Feature[0] = 1, 9 },
		"state": func(e *Ensemble) { e.State[StateEnd] = 99 }, "trees": func(e *Ensemble) { e.State[StateTrees] = 3 },
		"other tree": func(e *Ensemble) { e.State[StateTrees] = 1 }, "batches": func(e *Ensemble) { e.State[StateBatches] = -1 },
		"no room":    func(e *Ensemble) { e.State[StateFirst], e.State[StateEnd] = 6, 7 },
		"wide layer": func(e *Ensemble) { e.State[StateLayers], e.State[StateFirst], e.State[StateEnd] = 1, 0, 3 },
		"centring": func(e *Ensemble) {
			e.State[StateCentered], e.State[StateLayers], e.State[StateFirst], e.State[StateEnd] = 0, 1, 1, 3
		},
		"active node with children": func(e *Ensemble) { e.Left[0] = 1 },
	} {
		e := NewEnsemble(c)
		spoil(e)
		if err := e.Check(c, 3); !errors.Is(err, ErrEnsemble) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestEqualGradientsDoNotOverflow: each gradient is rounded up to the largest whole number.
func TestEqualGradientsDoNotOverflow(t *testing.T) {
	defer kernels.SetThreads(0)
	kernels.SetThreads(1)
	rows := 1 << 15
	x, labels := make([]float32, rows), make([]float32, rows)
	for i := range x {
		x[i], labels[i] = float32(i%2), -0.999999
	}
	space, err := NewSpace([]Feature{{Name: "x", Boundaries: []float32{0.5}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{Trees: 1, Depth: 1, LearningRate: 1, Dim: 1}
	e := trained(t, c, space, x, rows, &Squared{Labels: labels, Dim: 1})
	if e.Left[0] != 0 {
		t.Errorf("equal labels are split, which gained %v", e.Gains[0])
	}
}
