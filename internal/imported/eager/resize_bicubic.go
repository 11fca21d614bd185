package eager

import (
	"fmt"
	"math"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// cubicSteps is the number of positions between two pixels that have their own weights.
const cubicSteps = 1 << 10

// cubicTable returns the weights of the two pixels on one side, for a parameter of Keys' kernel.
func cubicTable(a float64) []float32 {
	t := make([]float32, 2*(cubicSteps+1))
	for i := range cubicSteps + 1 {
		x := float64(i) / cubicSteps
		t[2*i] = float32(((a+2)*x-(a+3))*x*x + 1)
		x++
		t[2*i+1] = float32(((a*x-5*a)*x+8*a)*x - 4*a)
	}
	return t
}

var (
	keysTable   = sync.OnceValue(func() []float32 { return cubicTable(-0.5) })
	legacyTable = sync.OnceValue(func() []float32 { return cubicTable(-0.75) })
)

// cubic is the position of a pixel in a bicubic resize: four pixels around it, with weights.
type cubic struct {
	at      [4]int
	weights [4]float32
}

// among returns the four pixels around pixel i of the result. With half pixel centers, pixels beyond the ends do not count.
func (r scaling) among(i int) (p cubic) {
	at := r.at(i)
	first := int(math.Floor(float64(at)))
	k := int(math.RoundToEven(float64(at-float32(first)) * cubicSteps))
	table := legacyTable()
	if r.halves {
		table = keysTable()
	}
	p.weights = [4]float32{table[2*k+1], table[2*k], table[2*(cubicSteps-k)], table[2*(cubicSteps-k)+1]}
	sum := float32(0)
	for j := range p.at {
		p.at[j] = min(max(first-1+j, 0), r.in-1)
		if r.halves && p.at[j] != first-1+j {
			p.weights[j] = 0
		}
		sum += p.weights[j]
	}
	if r.halves && max(sum, -sum) >= 1000*leastNormal {
		for j := range p.weights {
			p.weights[j] *= 1 / sum
		}
	}
	return p
}

// all returns the positions of all pixels of a dimension.
func (r scaling) all(c call) ([]cubic, error) {
	if err := c.room(r.out, 48); err != nil {
		return nil, err
	}
	out := make([]cubic, r.out)
	for i := range out {
		out[i] = r.among(i)
	}
	return out, nil
}

// cubics returns the positions in both dimensions.
func cubics(c call, h, w scaling) (rows, columns []cubic, err error) {
	if rows, err = h.all(c); err == nil {
		columns, err = w.all(c)
	}
	return rows, columns, err
}

func (p cubic) sum(v [4]float32) float32 {
	return v[0]*p.weights[0] + v[1]*p.weights[1] + v[2]*p.weights[2] + v[3]*p.weights[3]
}

func resizeBicubic(s *site) (kernel, error) {
	return func(c call) error {
		h, w, err := resizing(c, s)
		if err != nil {
			return err
		}
		n, d := c.t(0).Shape[0], c.t(0).Shape[3]
		y, err := outputOf[float32](c, 0, n, h.out, w.out, d)
		if err != nil || len(y) == 0 {
			return err
		}
		src, err := recastTo(c, c.t(0), tensor.Float32)
		if err != nil {
			return err
		}
		rows, columns, err := cubics(c, h, w)
		if err != nil {
			return err
		}
		x := tensor.Values[float32](src)
		for b := range n {
			image := x[b*h.in*w.in*d:]
			for _, p := range rows {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				for _, q := range columns {
					for k := range d {
						var v [4]float32
						for j, column := range q.at {
							var u [4]float32
							for i, row := range p.at {
								u[i] = image[(row*w.in+column)*d+k]
							}
							v[j] = p.sum(u)
						}
						y[k] = q.sum(v)
					}
					y = y[d:]
				}
			}
		}
		return nil
	}, nil
}

// resizeBicubicGrad distributes each pixel's gradient to the sixteen pixels around its position.
func resizeBicubicGrad(s *site) (kernel, error) {
	return floats(func(c call) error { return gradOfBicubic[float32](c, s) }, func(c call) error { return gradOfBicubic[float64](c, s) }).on(1), nil
}

func gradOfBicubic[T float](c call, s *site) error {
	g, x := c.t(0), c.t(1)
	if err := gradients4(g, x); err != nil {
		return err
	}
	h, w, err := enlarged(s, g, x.Shape[1], x.Shape[2])
	if err != nil {
		return err
	}
	rows, columns, err := cubics(c, h, w)
	if err != nil {
		return err
	}
	n, d := g.Shape[0], g.Shape[3]
	dx, err := outputOf[T](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	src := tensor.Values[float32](g)
	for b := range n {
		image := dx[b*h.in*w.in*d:]
		for _, p := range rows {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			for _, q := range columns {
				for i, row := range p.at {
					for j, column := range q.at {
						to := image[(row*w.in+column)*d:][:d]
						for k, v := range src[:d] {
							to[k] += T(v * p.weights[i] * q.weights[j])
						}
					}
				}
				src = src[d:]
			}
		}
	}
	return nil
}

// resizeArea averages the pixels that each pixel of the result covers, wholly or in part.
func resizeArea(s *site) (kernel, error) {
	return func(c call) error {
		h, w, err := resizing(c, s)
		if err != nil {
			return err
		}
		n, d := c.t(0).Shape[0], c.t(0).Shape[3]
		y, err := outputOf[float32](c, 0, n, h.out, w.out, d)
		if err != nil || len(y) == 0 {
			return err
		}
		src, err := recastTo(c, c.t(0), tensor.Float32)
		if err != nil {
			return err
		}
		rows, err := h.covers(c)
		if err != nil {
			return err
		}
		columns, err := w.covers(c)
		if err != nil {
			return err
		}
		x := tensor.Values[float32](src)
		scale := 1 / (h.step() * w.step())
		for b := range n {
			for _, p := range rows {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				for _, q := range columns {
					for i, v := range p.weights {
						for j, u := range q.weights {
							at := ((b*h.in+min(p.from+i, h.in-1))*w.in + min(q.from+j, w.in-1)) * d
							for k, z := range x[at : at+d] {
								y[k] += z * v * u * scale
							}
						}
					}
					y = y[d:]
				}
			}
		}
		return nil
	}, nil
}

// step returns the number of input pixels per pixel of the result.
func (r scaling) step() float32 {
	if r.corners && r.out > 1 {
		return float32(r.in-1) / float32(r.out-1)
	}
	return float32(r.in) / float32(r.out)
}

// cover is a run of pixels with their weights.
type cover struct {
	from    int
	weights []float32
}

// covers returns the pixels of one dimension that each pixel of the result covers.
func (r scaling) covers(c call) ([]cover, error) {
	if r.step() <= 0 {
		return nil, fmt.Errorf("Resize to %d pixels of %d with corners aligned covers nothing", r.out, r.in)
	}
	if err := c.room(r.out*4+r.in*2, 16); err != nil {
		return nil, err
	}
	out := make([]cover, r.out)
	scale := r.step()
	for x := range out {
		begin, end := float32(x)*scale, float32(x+1)*scale
		from := int(math.Floor(float64(begin)))
		out[x].from = from
		for i := from; i < int(math.Ceil(float64(end))); i++ {
			p, w := float32(i), float32(0)
			switch {
			case p < begin && p+1 > end:
				w = scale
			case p < begin:
				w = p + 1 - begin
			case p+1 > end:
				w = end - p
			default:
				w = 1
			}
			out[x].weights = append(out[x].weights, w)
		}
	}
	return out, nil
}
