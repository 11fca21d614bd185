package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

const (
	rnnSteps    = 5
	rnnFeatures = 3
	rnnUnits    = 2
)

// rnnLengths are the steps of the examples: none, some, all.
var rnnLengths = []int{0, 3, 5, 1}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// product adds x times the matrix m [len(x), n] to a copy of to.
func product(x, m, to []float64) []float64 {
	out := slices.Clone(to)
	for i, v := range x {
		for j := range out {
			out[j] += v * m[i*len(out)+j]
		}
	}
	return out
}

// cellByDefinition is one step of Keras' cells in plain numbers.
func cellByDefinition(cell layers.CellType, w map[string][]float64, x, h, c []float64) (nextH, nextC []float64) {
	u := len(h)
	b := w["bias"]
	nextH, nextC = make([]float64, u), make([]float64, u)
	switch cell {
	case layers.SimpleRNN:
		for j, v := range product(h, w["recurrent_kernel"], product(x, w["kernel"], b)) {
			nextH[j] = math.Tanh(v)
		}
	case layers.LSTM:
		z := product(h, w["recurrent_kernel"], product(x, w["kernel"], b))
		for j := range u {
			nextC[j] = sigmoid(z[u+j])*c[j] + sigmoid(z[j])*math.Tanh(z[2*u+j])
			nextH[j] = sigmoid(z[3*u+j]) * math.Tanh(nextC[j])
		}
	case layers.GRU:
		in, back := product(x, w["kernel"], b[:3*u]), product(h, w["recurrent_kernel"], b[3*u:])
		for j := range u {
			z, r := sigmoid(in[j]+back[j]), sigmoid(in[u+j]+back[u+j])
			nextH[j] = z*h[j] + (1-z)*math.Tanh(in[2*u+j]+r*back[2*u+j])
		}
	}
	return nextH, nextC
}

// byDefinition returns the outputs of all steps of all examples.
func byDefinition(cell layers.CellType, w map[string][]float64, x []float64) []float64 {
	var out []float64
	for row, n := range rnnLengths {
		h, c := make([]float64, rnnUnits), make([]float64, rnnUnits)
		for t := range rnnSteps {
			if t < n {
				h, c = cellByDefinition(cell, w, x[(row*rnnSteps+t)*rnnFeatures:][:rnnFeatures], h, c)
			}
			out = append(out, h...)
		}
	}
	return out
}

// rnnMask returns the mask for rnnLengths.
func rnnMask() *tensor.Tensor {
	m := tensor.New(tensor.Bool, len(rnnLengths), rnnSteps)
	for row, n := range rnnLengths {
		for t := range n {
			tensor.Values[bool](m)[row*rnnSteps+t] = true
		}
	}
	return m
}

// recurrentProgram returns the outputs, and the gradients of the sum of their sines by
// the input and the variables.
func recurrentProgram(t *testing.T, cell layers.CellType) *modeltest.Program {
	return modeltest.New(t, models.Options{Mode: models.Train, DType: tensor.Float64, Seed: 3}, func(b *models.Builder) []*G.Node {
		x := b.Input("x", tensor.Float64, b.Batch(), rnnSteps, rnnFeatures)
		mask := b.Input("mask", tensor.Bool, b.Batch(), rnnSteps)
		y := layers.Recurrent(b, x, mask, layers.Rnn{Name: "rnn", Cell: cell.Of(rnnUnits)})
		by := []*G.Node{x}
		for _, v := range b.Variables() {
			by = append(by, v.Node)
		}
		loss := ops.Sum(b, ops.Sin(b, y))
		if b.Failed() {
			t.Fatal(b.Err())
		}
		grads, err := G.Grad(loss, by...)
		if err != nil {
			t.Fatal(err)
		}
		return append([]*G.Node{y, loss}, grads...)
	})
}

// The outputs are compared with the definition, the gradients with finite
// differences.
func TestRecurrent(t *testing.T) {
	for _, cell := range []layers.CellType{layers.SimpleRNN, layers.LSTM, layers.GRU} {
		t.Run(string(cell), func(t *testing.T) {
			p := recurrentProgram(t, cell)
			r, names := rand.New(rand.NewPCG(1, 9)), []string{"x", "rnn/kernel", "rnn/recurrent_kernel", "rnn/bias"}
			w := map[string][]float64{}
			draw := func(n int) []float64 {
				out := make([]float64, n)
				for i := range out {
					out[i] = r.NormFloat64()
				}
				return out
			}
			for _, name := range names[1:] {
				v := p.Variables[name]
				w[strings.TrimPrefix(name, "rnn/")] = draw(v.Len())
				p.Variables[name] = modeltest.Tensor(tensor.Float64, w[strings.TrimPrefix(name, "rnn/")], v.Shape...)
			}
			x := draw(len(rnnLengths) * rnnSteps * rnnFeatures)
			got := p.Host(t, len(rnnLengths), modeltest.Tensor(tensor.Float64, x, len(rnnLengths), rnnSteps, rnnFeatures), rnnMask())
			if d := cmp.Diff(byDefinition(cell, w, x), modeltest.Floats(got[0]), near); d != "" {
				t.Fatal(d)
			}
			loss := func() (sum float64) {
				for _, y := range byDefinition(cell, w, x) {
					sum += math.Sin(y)
				}
				return sum
			}
			for i, values := range [][]float64{x, w["kernel"], w["recurrent_kernel"], w["bias"]} {
				for j, g := range modeltest.Floats(got[2+i]) {
					const h = 1e-6
					was := values[j]
					values[j] = was + h
					up := loss()
					values[j] = was - h
					down := loss()
					values[j] = was
					if want := (up - down) / (2 * h); math.Abs(g-want) > 1e-7*max(1, math.Abs(want)) {
						t.Fatalf("gradient %d of %s: %v, by differences %v", j, names[i], g, want)
					}
				}
			}
		})
	}
}

// Variables start as in Keras: the bias of an LSTM's gate f at 1.
func TestRecurrentVariables(t *testing.T) {
	for cell, want := range map[layers.CellType]string{
		layers.SimpleRNN: "rnn/kernel[3 2] rnn/recurrent_kernel[2 2] rnn/bias[2] [0 0]",
		layers.LSTM:      "rnn/kernel[3 8] rnn/recurrent_kernel[2 8] rnn/bias[8] [0 0 1 1 0 0 0 0]",
		layers.GRU:       "rnn/kernel[3 6] rnn/recurrent_kernel[2 6] rnn/bias[2 6] [0 0 0 0 0 0 0 0 0 0 0 0]",
	} {
		p := recurrentProgram(t, cell)
		var got []string
		for _, name := range []string{"rnn/kernel", "rnn/recurrent_kernel", "rnn/bias"} {
			got = append(got, fmt.Sprint(name, p.Variables[name].Shape))
		}
		got = append(got, fmt.Sprint(modeltest.Floats(p.Variables["rnn/bias"])))
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, expected %s", cell, s, want)
		}
	}
}

func TestRecurrentErrors(t *testing.T) {
	for want, o := range map[string]layers.Rnn{
		`cell type "elman": expected simple_rnn, lstm or gru`: {Cell: layers.CellType("elman").Of(2)},
		"units is 0: expected >= 1":                           {Cell: layers.GRU.Of(0)},
		"the mask has shape (7, 4)":                           {Cell: layers.GRU.Of(2)},
	} {
		_, err := models.Build(models.Options{Mode: models.Train, Batch: 7}, func(b *models.Builder) error {
			layers.Recurrent(b, b.Input("x", tensor.Float32, 7, 3, 2), b.Input("mask", tensor.Bool, 7, 4), o)
			return b.Err()
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
}
