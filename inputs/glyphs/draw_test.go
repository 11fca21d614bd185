package glyphs

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

func TestDrawIsDeterministic(t *testing.T) {
	a, b := make([]byte, Pixels), bytes.Repeat([]byte{7}, Pixels)
	for i := range int64(200) {
		if la, lb := Draw(a, 3, i), Draw(b, 3, i); la != lb || !bytes.Equal(a, b) {
			t.Fatalf("image %d differs when drawn again", i)
		}
	}
	if Draw(b, 4, 199); bytes.Equal(a, b) {
		t.Error("another seed gives the same image")
	}
}

func TestClassesAreEven(t *testing.T) {
	var n [Classes]int
	img := make([]byte, Pixels)
	for i := range int64(20000) {
		n[Draw(img, 1, i)]++
	}
	for c, k := range n {
		if k < 1800 || k > 2200 {
			t.Errorf("class %d: %d of 20000", c, k)
		}
	}
}

// TestLearnable trains softmax regression and a small network by plain
// stochastic gradient descent: the set must need the network, and the network
// must learn it.
func TestLearnable(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: trains for some seconds")
	}
	hidden, steps, floor := 32, 400, 0.93
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		hidden, steps, floor = 64, 1200, 0.975
	}
	linear, network := train(0, 200), train(hidden, steps)
	t.Logf("accuracy: linear %.3f, network %.3f", linear, network)
	if linear > 0.95 {
		t.Errorf("softmax regression reaches %.3f: the set is too easy", linear)
	}
	if network < floor {
		t.Errorf("a network of %d hidden units reaches only %.3f", hidden, network)
	}
}

// train returns the accuracy on fresh images after steps batches of 50 images.
func train(hidden, steps int) float64 {
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []int{Pixels, Classes}
	if hidden > 0 {
		sizes = []int{Pixels, hidden, Classes}
	}
	var ws [][]float32
	for i := range sizes[1:] {
		w := make([]float32, sizes[i+1]*(sizes[i]+1))
		for k := range w {
			w[k] = float32(rnd.NormFloat64() / math.Sqrt(float64(sizes[i])))
		}
		ws = append(ws, w)
	}
	img, x := make([]byte, Pixels), make([]float32, Pixels)
	const batch = 50
	for i := range steps * batch {
		rate := float32(0.02) * (1 - float32(i)/float32(steps*batch))
		label := load(x, img, 1, int64(i))
		acts := forward(ws, sizes, x)
		backward(ws, sizes, acts, label, rate)
	}
	right := 0
	for i := range int64(2000) {
		label := load(x, img, 2, i)
		acts := forward(ws, sizes, x)
		if argmax(acts[len(acts)-1]) == label {
			right++
		}
	}
	return float64(right) / 2000
}

func load(x []float32, img []byte, seed, i int64) int {
	label := Draw(img, seed, i)
	for k, v := range img {
		x[k] = float32(v) / 255
	}
	return label
}

func forward(ws [][]float32, sizes []int, x []float32) [][]float32 {
	acts := [][]float32{x}
	for l, w := range ws {
		in, n := acts[l], sizes[l]
		out := make([]float32, sizes[l+1])
		for j := range out {
			row := w[j*(n+1) : (j+1)*(n+1)]
			sum := row[n]
			for k, v := range in {
				sum += row[k] * v
			}
			if l < len(ws)-1 {
				sum = max(sum, 0)
			}
			out[j] = sum
		}
		acts = append(acts, out)
	}
	return acts
}

func backward(ws [][]float32, sizes []int, acts [][]float32, label int, rate float32) {
	logits := acts[len(acts)-1]
	grad := make([]float32, len(logits))
	top, sum := logits[argmax(logits)], float32(0)
	for i, v := range logits {
		grad[i] = float32(math.Exp(float64(v - top)))
		sum += grad[i]
	}
	for i := range grad {
		grad[i] /= sum
	}
	grad[label]--
	for l := len(ws) - 1; l >= 0; l-- {
		n, in := sizes[l], acts[l]
		back := make([]float32, n)
		for j, g := range grad {
			if g == 0 {
				continue
			}
			row := ws[l][j*(n+1) : (j+1)*(n+1)]
			for k, v := range in {
				if v != 0 || l > 0 {
					back[k] += row[k] * g
					row[k] -= rate * g * v
				}
			}
			row[n] -= rate * g
		}
		for k, v := range in {
			if v <= 0 {
				back[k] = 0
			}
		}
		grad = back
	}
}

func argmax(v []float32) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

func BenchmarkDraw(b *testing.B) {
	img := make([]byte, Pixels)
	for i := range b.N {
		Draw(img, 1, int64(i))
	}
}
