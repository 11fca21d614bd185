package trees

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// classes returns examples of four classes, which depend on toy's numbers.
func classes(rows int) (space *Space, x []float32, loss *Softmax) {
	rng := rand.New(rand.NewPCG(5, 11))
	space, x, _ = toy(rng, rows, 1)
	loss = &Softmax{Dim: 4}
	for r := range rows {
		class := int64(0)
		if x[r*space.Width] > 0 {
			class = 2
		}
		if x[r*space.Width+1] > 0.3 {
			class++
		}
		if rng.IntN(10) == 0 {
			class = rng.Int64N(4)
		}
		loss.Classes = append(loss.Classes, class)
	}
	return space, x, loss
}

// TestClassTrees: each tree has values only for its class, except the bias, and the loss falls. Training resumed after any layer, and
// training by sums of batches, grow the same trees.
func TestClassTrees(t *testing.T) {
	const rows = 900
	space, x, loss := classes(rows)
	for _, c := range []*Config{
		{Trees: 8, Depth: 3, LearningRate: 0.3, Dim: 4, CenterBias: true, ClassTrees: true},
		{Trees: 8, Depth: 3, LearningRate: 0.3, Dim: 4, ClassTrees: true, ColumnShare: 0.7, Pruning: PostPrune, Complexity: 1e-3},
	} {
		name := fmt.Sprint(*c)
		whole := trained(t, c, space, x, rows, loss)
		for n, v := range whole.Values {
			tree, k := n/c.Dim/c.treeNodes(), n%c.Dim
			if tree > 0 && k != tree%c.Dim && v != 0 {
				t.Fatalf("%s: tree %d has %v for class %d", name, tree, v, k)
			}
		}
		out := make([]float32, rows*c.Dim)
		whole.Predict(c, x, rows, space.Width, out)
		if got := meanLoss(loss, out); !(got < 0.9) {
			t.Errorf("%s: loss %v", name, got)
		}
		e := NewEnsemble(c)
		for !e.Done(c) {
			tr, err := NewTrainer(c, space, e, x, rows, loss)
			if err != nil {
				t.Fatal(err)
			}
			e.Predict(c, x, rows, space.Width, out)
			for i, v := range tr.Outputs() {
				if math.Abs(float64(v-out[i])) > 1e-5 {
					t.Fatalf("%s: output %d is %v, expected %v", name, i, v, out[i])
				}
			}
			if err := tr.Layer(); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, name, whole, e)
		shared := *c
		shared.ClassTrees = false
		if err := errors.Join(whole.Check(c, space.Width), whole.Check(&shared, space.Width)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := trained(t, &shared, space, x, rows, loss).Check(c, space.Width); !errors.Is(err, ErrEnsemble) {
			t.Errorf("%s: trees of all classes are taken: %v", name, err)
		}
		checkBatchesOfClasses(t, c, whole, space, x, loss)
	}
}

// checkBatchesOfClasses grows trees by given gradients. Values differ by rounding.
func checkBatchesOfClasses(t *testing.T, c *Config, want *Ensemble, space *Space, x []float32, loss *Softmax) {
	t.Helper()
	rows := len(loss.Classes)
	e, k := NewEnsemble(c), &Collector{}
	out, both, all := make([]float32, rows*c.Dim), make([]float32, rows*c.Dim*2), make([]int32, rows)
	for r := range all {
		all[r] = int32(r)
	}
	for !e.Done(c) {
		e.Predict(c, x, rows, space.Width, out)
		loss.Gradients(all, out, both)
		given := Given{Dim: c.Dim}
		for i := range rows * c.Dim {
			given.G, given.H = append(given.G, both[2*i]), append(given.H, both[2*i+1])
		}
		sums := make([]float64, e.Size(c, space))
		if err := k.Collect(c, space, e, x, given, sums); err != nil {
			t.Fatal(err)
		}
		first, end := e.Active(c)
		e.Grow(c, space, &Sums{Nodes: end - first, Dim: c.Dim, Bins: space.Bins, V: sums}, float64(rows))
	}
	got := make([]float32, rows*c.Dim)
	e.Predict(c, x, rows, space.Width, got)
	want.Predict(c, x, rows, space.Width, out)
	for i := range got {
		if math.Abs(float64(got[i]-out[i])) > 1e-3 {
			t.Fatalf("output %d is %v by batches and %v in memory", i, got[i], out[i])
		}
	}
}

func meanLoss(l *Softmax, out []float32) (sum float64) {
	for r, class := range l.Classes {
		all := 0.0
		for _, v := range out[r*l.Dim : (r+1)*l.Dim] {
			all += math.Exp(float64(v))
		}
		sum += (math.Log(all) - float64(out[r*l.Dim+int(class)])) / float64(len(l.Classes))
	}
	return sum
}

// TestDivision: the loss of a single class has the gradients of the whole loss, also after the logits of one class have changed.
func TestDivision(t *testing.T) {
	const rows = 37
	rng := rand.New(rand.NewPCG(3, 4))
	whole := &Softmax{Dim: 5}
	z, all := make([]float32, rows*whole.Dim), make([]int32, rows)
	for r := range all {
		all[r] = int32(r)
		whole.Classes = append(whole.Classes, rng.Int64N(5))
		whole.Weights = append(whole.Weights, rng.Float32())
	}
	for i := range z {
		z[i] = float32(4 * rng.NormFloat64())
	}
	d := whole.Divide()
	for k := range whole.Dim {
		d.Note(k, z)
	}
	for last := range whole.Dim {
		for r := range all {
			z[r*whole.Dim+last] += 3
		}
		d.Note(last, z)
		both := make([]float32, rows*whole.Dim*2)
		whole.Gradients(all, append([]float32(nil), z...), both)
		for k := range whole.Dim {
			logits, got := make([]float32, rows, rows+Lanes), make([]float32, rows*2)
			for r := range logits {
				logits[r] = z[r*whole.Dim+k]
			}
			d.Output(k).Gradients(all, logits, got)
			for i, v := range got {
				if want := both[(i/2*whole.Dim+k)*2+i%2]; !(math.Abs(float64(v-want)) < 1e-5) {
					t.Fatalf("after a change of class %d: number %d of row %d for class %d is %v, expected %v", last, i%2, i/2, k, v, want)
				}
			}
		}
	}
}

func TestClassTreesThatAreWrong(t *testing.T) {
	for _, c := range []Config{{Trees: 4, Dim: 1}, {Trees: 5, Dim: 2}, {Trees: 1 << 12, Dim: 1 << 9}} {
		c.Depth, c.LearningRate, c.ClassTrees = 6, 0.1, true
		if c.Check() == nil {
			t.Errorf("%v is taken", c)
		}
	}
	space, x, _ := classes(10)
	c := Config{Trees: 4, Depth: 2, LearningRate: 0.1, Dim: 2, ClassTrees: true}
	if _, err := NewTrainer(&c, space, NewEnsemble(&c), x, 10, &Squared{Labels: make([]float32, 20), Dim: 2}); err == nil {
		t.Error("a squared error is taken")
	}
}
