package eager

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// fractional has the attributes of pools with windows of random sizes, which shrink images by any ratio.
type fractional struct {
	ratio                        []float32
	pseudo, overlapping, average bool
	seed, seed2                  uint64
}

// fractionalPool makes the kernel of a max or average pool.
func fractionalPool(average bool) maker {
	return func(s *site) (kernel, error) {
		p := fractional{ratio: list[float32](s, "pooling_ratio"), pseudo: s.boolean("pseudo_random", false), overlapping: s.boolean("overlapping", false), average: average,
			seed: uint64(s.node.Int("seed", 0)), seed2: uint64(s.node.Int("seed2", 0))}
		seeded := p.seed != 0 || p.seed2 != 0
		switch {
		case len(p.ratio) != 4 || p.ratio[0] != 1 || p.ratio[3] != 1:
			return nil, fmt.Errorf("Fractional pooling is not yet supported on the batch nor channel dimension: pooling_ratio is %v", p.ratio)
		case seeded && !s.boolean("deterministic", false):
			return nil, fmt.Errorf("Both seed and seed2 should be 0 if deterministic is false.")
		case !seeded && s.boolean("deterministic", false):
			p.seed, p.seed2 = rand.Uint64(), rand.Uint64()
		}
		return numbers(fractionalOf[float32](p), fractionalOf[float64](p), nil, nil, fractionalOf[int32](p), fractionalOf[int64](p), nil, nil, nil, nil).on(0), nil
	}
}

// starts returns where the windows of one dimension begin, and where the last one ends; and the stream after the numbers it used.
func (p fractional) starts(in, out int, r kernels.Rand) ([]int, kernels.Rand) {
	sizes := make([]int, out)
	switch whole := in / out; {
	case in%out == 0 && p.pseudo:
		for i := range sizes {
			sizes[i] = whole
		}
	case p.pseudo:
		ratio := float64(in) / float64(out)
		most := min(float64(whole+2)/ratio-1, float64(in+1-whole)/ratio-float64(out-1))
		u := r.Words().Float64() * most
		r = r.Skip(1)
		for i, last := 0, 1; i < out; i++ {
			next := in + 1
			if i+1 < out {
				next = int(math.Ceil(ratio * (float64(i+1) + u)))
			}
			sizes[i], last = next-last, next
		}
	default:
		for i := range sizes {
			if sizes[i] = whole; i < in%out {
				sizes[i]++
			}
		}
		words := r.Words()
		r = r.Skip(uint64(out+3) / 4)
		for i := 0; i+1 < out; i++ {
			k := i + int(words.Next()%uint32(out-i))
			sizes[i], sizes[k] = sizes[k], sizes[i]
		}
	}
	starts := make([]int, out+1)
	for i, n := range sizes {
		starts[i+1] = starts[i] + n
	}
	return starts, r
}

// sequences sets the outputs that say where the windows are.
func (p fractional) sequences(c call, shape []int) (rows, columns []int, err error) {
	if len(shape) != 4 {
		return nil, nil, fmt.Errorf("tensor_in must be 4-dimensional, got shape %v", shape)
	}
	r := kernels.Seeded(p.seed, p.seed2)
	if p.seed == 0 && p.seed2 == 0 {
		r = kernels.Seeded(rand.Uint64(), rand.Uint64())
	}
	var all [2][]int
	for i := range all {
		in, ratio := shape[1+i], p.ratio[1+i]
		if !(ratio <= float32(in)) || !(ratio >= 1) {
			return nil, nil, fmt.Errorf("Pooling ratio is higher than input dimension size for dimension %d. Input dim size: %d pooling ratio: %v", 1+i, in, ratio)
		}
		if err := c.room(in+2, 16); err != nil {
			return nil, nil, err
		}
		all[i], r = p.starts(in, int(math.Floor(float64(float32(in)/ratio))), r)
		if err := c.outputInts(1+i, tensor.Int64, all[i], len(all[i])); err != nil {
			return nil, nil, err
		}
	}
	return all[0], all[1], nil
}

func fractionalOf[T number](p fractional) kernel {
	return func(c call) error {
		x := c.t(0)
		rows, columns, err := p.sequences(c, x.Shape)
		if err != nil {
			return err
		}
		h, w, depth := len(rows)-1, len(columns)-1, x.Shape[3]
		y, err := outputOf[T](c, 0, x.Shape[0], h, w, depth)
		if err != nil || len(y) == 0 {
			return err
		}
		end := func(starts []int, i int) int { // the end of window i
			if p.overlapping {
				return min(starts[i+1]+1, starts[len(starts)-1])
			}
			return starts[i+1]
		}
		src := tensor.Values[T](x)
		for b := range x.Shape[0] {
			for i := range h {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				for j := range w {
					to := y[((b*h+i)*w+j)*depth:][:depth]
					n := 0
					for r := rows[i]; r < end(rows, i); r++ {
						for k := columns[j]; k < end(columns, j); k++ {
							takePixel(p.average, n == 0, to, src[((b*x.Shape[1]+r)*x.Shape[2]+k)*depth:][:depth])
							n++
						}
					}
					if p.average {
						for d := range to {
							to[d] /= T(n)
						}
					}
				}
			}
		}
		return nil
	}
}

// takePixel adds a pixel, or takes the maximum, ignoring NaN.
func takePixel[T number](add, first bool, to, pixel []T) {
	for d, v := range pixel {
		if first && !add {
			to[d] = lowest[T]()
		}
		switch {
		case add:
			to[d] += v
		case to[d] < v:
			to[d] = v
		}
	}
}
