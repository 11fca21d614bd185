package kernels

import "testing"

// mlp is a multi-layer perceptron: dense layers with ReLU between them and softmax at the end, trained with Adam. Its time
// is the engine's lower bound.
type mlp struct {
	batch  int
	widths []int
	w, b   [][]float32
	dw, db [][]float32
	slots  [4][][]float32
	x, dx  [][]float32 // activations and their gradients, layer by layer
	loss   []float32
	labels []int32
}

func newMLP(batch int, widths ...int) *mlp {
	r := newRand(1)
	m := &mlp{batch: batch, widths: widths, loss: make([]float32, batch), labels: make([]int32, batch)}
	m.x = append(m.x, vector[float32](r, batch*widths[0]))
	m.dx = append(m.dx, nil)
	for i := 1; i < len(widths); i++ {
		size := widths[i-1] * widths[i]
		w := vector[float32](r, size)
		BinaryScalar(Mul, w, w, 0.05)
		m.w, m.dw = append(m.w, w), append(m.dw, make([]float32, size))
		m.b, m.db = append(m.b, make([]float32, widths[i])), append(m.db, make([]float32, widths[i]))
		for s := range m.slots {
			n := size
			if s >= 2 {
				n = widths[i]
			}
			m.slots[s] = append(m.slots[s], make([]float32, n))
		}
		m.x, m.dx = append(m.x, make([]float32, batch*widths[i])), append(m.dx, make([]float32, batch*widths[i]))
	}
	for i := range m.labels {
		m.labels[i] = int32(r.IntN(widths[len(widths)-1]))
	}
	return m
}

func (m *mlp) step(t testing.TB) {
	last := len(m.w) - 1
	for i, w := range m.w {
		in, out := m.widths[i], m.widths[i+1]
		Gemm(GemmArgs[float32]{M: m.batch, N: out, K: in, Alpha: 1, A: m.x[i], LDA: in, B: w, LDB: out, C: m.x[i+1], LDC: out,
			Bias: m.b[i], Relu: i < last})
	}
	classes := m.widths[last+1]
	if err := SparseSoftmaxXent(m.loss, m.dx[last+1], m.x[last+1], m.labels, m.batch, classes); err != nil {
		t.Fatal(err)
	}
	BinaryScalar(Mul, m.dx[last+1], m.dx[last+1], 1/float32(m.batch))
	for i := last; i >= 0; i-- {
		in, out := m.widths[i], m.widths[i+1]
		Gemm(GemmArgs[float32]{M: in, N: out, K: m.batch, Alpha: 1, A: m.x[i], LDA: in, TransA: true, B: m.dx[i+1], LDB: out,
			C: m.dw[i], LDC: out})
		ColSum(m.db[i], m.dx[i+1], m.batch, out)
		if i > 0 {
			Gemm(GemmArgs[float32]{M: m.batch, N: in, K: out, Alpha: 1, A: m.dx[i+1], LDA: out, B: m.w[i], LDB: out, TransB: true,
				C: m.dx[i], LDC: in})
			Binary(ReluGrad, m.dx[i], m.dx[i], m.x[i])
		}
	}
	p := AdamParams[float32]{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
	for i := range m.w {
		Adam(m.w[i], m.slots[0][i], m.slots[1][i], m.dw[i], p)
		Adam(m.b[i], m.slots[2][i], m.slots[3][i], m.db[i], p)
	}
}

// TestStepLearns trains a small network to overfit one batch, without allocating.
func TestStepLearns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		m := newMLP(32, 20, 33, 17, 5)
		for range 200 {
			m.step(t)
		}
		if mean := Sum(m.loss) / 32; !(mean < 0.2) {
			t.Errorf("loss after 200 steps is %v", mean)
		}
		requireNoAllocs(t, "a step", func() { m.step(t) })
	})
}

// TestStepDeterministic runs the same training on different numbers of threads.
func TestStepDeterministic(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	var want []float32
	for threads := 1; threads <= 4; threads++ {
		SetThreads(threads)
		m := newMLP(128, 100, 128, 64, 10)
		for range 5 {
			m.step(t)
		}
		if want == nil {
			want = m.w[0]
		}
		requireBits(t, "weights", m.w[0], want)
	}
}

// BenchmarkStep is the network of the performance tables: 308 MFLOP and 548k parameters a step.
func BenchmarkStep(b *testing.B) {
	m := newMLP(128, 784, 512, 256, 10)
	for b.Loop() {
		m.step(b)
	}
}
