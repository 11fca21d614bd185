package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// sampler draws class numbers below a limit, according to their probability.
type sampler struct {
	draw        func(w *kernels.Words) int64
	probability func(class int64) float64
}

func uniformCandidates(classes int64) sampler {
	p := float64(float32(1 / float64(classes)))
	return sampler{func(w *kernels.Words) int64 { return int64(w.Below(uint64(classes))) }, func(int64) float64 { return p }}
}

// logUniformCandidates draws small numbers more often, by Zipf's law.
func logUniformCandidates(classes int64) sampler {
	span := math.Log1p(float64(classes))
	return sampler{
		func(w *kernels.Words) int64 { return (int64(math.Exp(w.Float64()*span)) - 1) % classes },
		func(class int64) float64 { return math.Log((float64(class)+2)/(float64(class)+1)) / span },
	}
}

// manyTries bounds the draws per unique candidate.
const manyTries = 1 << 16

// candidates makes the kernel of a candidate sampler. It returns the candidates, and how often each true class and each candidate is
// expected among them.
func candidates(of func(classes int64) sampler) maker {
	return func(s *site) (kernel, error) {
		n, most := s.count("num_sampled", 0, math.MaxInt32), s.node.Int("range_max", 0)
		trues, unique := s.count("num_true", 0, math.MaxInt32), s.boolean("unique", false)
		if most <= 0 {
			return nil, fmt.Errorf("range_max must be positive, got %d", most)
		}
		if unique && n > most {
			return nil, fmt.Errorf("Sampler's range is too small: %d unique candidates of %d", n, most)
		}
		from, g := of(int64(most)), s.generator()
		return func(c call) error {
			t := c.t(0)
			if t.DType != tensor.Int64 || len(t.Shape) != 2 || t.Shape[1] != trues {
				return fmt.Errorf("true_classes must be an int64 matrix of %d columns, got %v of shape %v", trues, t.DType, t.Shape)
			}
			for _, v := range tensor.Values[int64](t) {
				if v < 0 || v >= int64(most) {
					return fmt.Errorf("`true_candidate` out of range [0, %d), received %d", most, v)
				}
			}
			ids, err := outputOf[int64](c, 0, n)
			if err != nil {
				return err
			}
			tries, err := from.sample(c, ids, unique, g.reserve(uint64(2048*n+3)/4))
			if err != nil {
				return err
			}
			if err := from.expect(c, 1, t, n, tries); err != nil {
				return err
			}
			return from.expect(c, 2, c.out[0].T, n, tries)
		}, nil
	}
}

// sample fills ids and returns the number of draws.
func (f sampler) sample(c call, ids []int64, unique bool, r kernels.Rand) (tries int, err error) {
	words := r.Words()
	if !unique {
		for i := range ids {
			ids[i] = f.draw(words)
		}
		return len(ids), nil
	}
	if err := c.room(len(ids), 16); err != nil {
		return 0, err
	}
	used := make(map[int64]bool, len(ids))
	for i := 0; i < len(ids); tries++ {
		if tries%4096 == 0 && c.ctx.Err() != nil {
			return 0, c.ctx.Err()
		}
		if tries >= manyTries*len(ids) {
			return 0, fmt.Errorf("no %d unique candidates were found", len(ids))
		}
		if v := f.draw(words); !used[v] {
			used[v], ids[i] = true, v
			i++
		}
	}
	return tries, nil
}

// expect computes output i: how often each class is expected among n candidates that took that many draws.
func (f sampler) expect(c call, i int, classes *tensor.Tensor, n, tries int) error {
	dst, err := outputOf[float32](c, i, classes.Shape...)
	if err != nil {
		return err
	}
	for k, v := range tensor.Values[int64](classes) {
		p := float32(f.probability(v))
		if dst[k] = p * float32(n); tries != n {
			dst[k] = float32(-math.Expm1(float64(float32(tries) * float32(math.Log1p(-float64(p))))))
		}
	}
	return nil
}

// accidentalHits finds true classes among the candidates: it returns the row, the candidate, and the weight that removes it.
func accidentalHits(s *site) (kernel, error) {
	trues := s.count("num_true", 0, math.MaxInt32)
	return func(c call) error {
		t, candidates := c.t(0), c.t(1)
		if t.DType != tensor.Int64 || len(t.Shape) != 2 || t.Shape[1] != trues || candidates.DType != tensor.Int64 || len(candidates.Shape) != 1 {
			return fmt.Errorf("expected true classes [rows, %d] and a vector of candidates, got shapes %v and %v", trues, t.Shape, candidates.Shape)
		}
		if err := c.room(candidates.Len()+t.Len(), 24); err != nil {
			return err
		}
		at := make(map[int64]int64, candidates.Len())
		for i, v := range tensor.Values[int64](candidates) {
			at[v] = int64(i)
		}
		var rows, ids []int
		for i, v := range tensor.Values[int64](t) {
			if k, ok := at[v]; ok {
				rows, ids = append(rows, i/trues), append(ids, int(k))
			}
		}
		if err := c.outputInts(0, tensor.Int32, rows, len(rows)); err != nil {
			return err
		}
		if err := c.outputInts(1, tensor.Int64, ids, len(ids)); err != nil {
			return err
		}
		weights, err := outputOf[float32](c, 2, len(ids))
		for i := range weights {
			weights[i] = -math.MaxFloat32
		}
		return err
	}, nil
}
