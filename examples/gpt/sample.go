package main

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// sampling says how a character is drawn.
type sampling struct {
	temperature float64 // below 1: likely characters become more likely
	topK        int     // the most likely ones that may be drawn
	topP        float64 // of these, as many as are needed for this probability
}

// continued writes characters after a prompt, one for each prediction of the model.
func (f *flags) continued(ctx context.Context, est *estimator.Estimator, prompt string) (string, error) {
	r, s := rand.New(rand.NewPCG(1, 2)), sampling{temperature: 0.8, topK: 20, topP: 0.95}
	text := encode([]byte(prompt))
	for range f.write {
		seen := make([]uint8, f.net.Context+1) // line ends before the text
		for i := range seen {
			seen[i] = 1
		}
		copy(seen[max(len(seen)-len(text), 0):], text[max(len(text)-len(seen), 0):])
		logits, err := f.next(ctx, est, seen)
		if err != nil {
			return "", err
		}
		text = append(text, uint8(s.draw(r, logits)))
	}
	out := make([]byte, len(text))
	for i, n := range text {
		out[i] = characters[n]
	}
	return string(out), nil
}

// next are the logits of the character after a text.
func (f *flags) next(ctx context.Context, est *estimator.Estimator, text []uint8) (logits []float32, err error) {
	input := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		one, err := inputs.Slices(ic.Allocator, inputs.Slice("text", inputs.Feature, text, len(text)))
		return inputs.Pipe(one, inputs.Batch(1, false)), err
	})
	for p, err := range est.Predict(ctx, input) {
		if err != nil {
			return nil, err
		}
		logits = slices.Clone(tensor.Values[float32](p.Get("logits")))
	}
	return logits, nil
}

// draw returns an index.
func (s sampling) draw(r *rand.Rand, logits []float32) int {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	order = order[:min(s.topK, len(order))]
	weights, sum := make([]float64, len(order)), 0.0
	for i, k := range order {
		weights[i] = math.Exp(float64(logits[k]-logits[order[0]]) / s.temperature)
		sum += weights[i]
	}
	kept := 0.0
	for i := range order {
		if kept += weights[i]; kept >= s.topP*sum {
			order = order[:i+1]
			break
		}
	}
	at := r.Float64() * kept
	for i, k := range order {
		if at -= weights[i]; at < 0 {
			return k
		}
	}
	return order[len(order)-1]
}
