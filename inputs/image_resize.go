package inputs

import (
	"fmt"
	"math"
)

// resized returns the image in another size. It uses a triangle filter that widens as the image shrinks, like tf.image.resize
// with method bilinear and antialias, and rounds pixels. An image whose intermediate result takes far more memory is an error.
func (p *picture) resized(h, w int) ([]byte, error) {
	if most := max(maxPixels, h*w); p.h > most/w {
		return nil, fmt.Errorf("image of %d x %d pixels cannot be resized to %d x %d: that takes %d x %d pixels on the way, more than %d: crop it, or set a smaller width", p.h, p.w, h, w, p.h, w, most)
	}
	across, down := triangles(p.w, w), triangles(p.h, h)
	rows := make([]float32, p.h*w*p.channels) // already of the new width
	for y := range p.h {
		line := p.pixels[y*p.w*p.channels:][:p.w*p.channels]
		for x, f := range across {
			for c := range p.channels {
				sum := float32(0)
				for i, weight := range f.weights {
					sum += weight * float32(line[(f.first+i)*p.channels+c])
				}
				rows[(y*w+x)*p.channels+c] = sum
			}
		}
	}
	stride := w * p.channels
	out := make([]byte, h*stride)
	sums := make([]float32, stride)
	for y, f := range down {
		clear(sums)
		for i, weight := range f.weights {
			for k, v := range rows[(f.first+i)*stride:][:stride] {
				sums[k] += weight * v
			}
		}
		for k, v := range sums {
			out[y*stride+k] = byte(min(max(v+0.5, 0), 255))
		}
	}
	return out, nil
}

// filter has the weights of the consecutive pixels that make one pixel.
type filter struct {
	first   int
	weights []float32
}

// triangles returns the filter of each pixel when a side of from pixels is resized to to pixels.
func triangles(from, to int) []filter {
	scale := float64(from) / float64(to)
	radius := max(scale, 1)
	out := make([]filter, to)
	for i := range out {
		centre := (float64(i) + 0.5) * scale
		first := max(int(math.Floor(centre-radius)), 0)
		last := min(int(math.Ceil(centre+radius)), from)
		f := filter{first: first}
		total := 0.0
		for k := first; k < last; k++ {
			weight := max(1-math.Abs((float64(k)+0.5-centre)/radius), 0)
			total += weight
			f.weights = append(f.weights, float32(weight))
		}
		for k := range f.weights {
			f.weights[k] /= float32(total)
		}
		out[i] = f
	}
	return out
}
