package onnxgraph

import "math"

// coordinate returns the position in the input of element i of the result, computed in float32 as in ONNX Runtime.
func (r *resizing) coordinate(i int) float64 {
	at, in, out, scale := float32(i), float32(r.in), float32(r.out), float32(r.scale)
	half := func() float32 { return (at+0.5)/scale - 0.5 }
	switch r.coordinates {
	case "half_pixel":
		return float64(half())
	case "half_pixel_symmetric":
		adjust := out / (scale * in)
		return float64(in/2*(1-adjust) + half())
	case "pytorch_half_pixel":
		if r.out == 1 {
			return 0
		}
		return float64(half())
	case "align_corners":
		if r.out == 1 {
			return 0
		}
		return float64(at * (in - 1) / (out - 1))
	case "asymmetric":
		return float64(at / scale)
	case "tf_half_pixel_for_nn":
		return float64((at + 0.5) / scale)
	case "tf_crop_and_resize":
		from, to := float32(r.from), float32(r.to)
		if r.out == 1 {
			return float64(0.5 * (from + to) * (in - 1))
		}
		return float64(from*(in-1) + at*(to-from)*(in-1)/(out-1))
	}
	refuse("coordinate_transformation_mode %s", r.coordinates)
	return 0
}

func (r *resizing) rounded(at float64) int {
	switch r.nearest {
	case "floor":
		return int(math.Floor(at))
	case "ceil":
		return int(math.Ceil(at))
	case "round_prefer_floor":
		return int(math.Ceil(at - 0.5))
	case "round_prefer_ceil":
		return int(math.Floor(at + 0.5))
	}
	refuse("nearest_mode %s", r.nearest)
	return 0
}

// taps returns the weights of input elements at a position. Elements beyond the ends repeat the last ones, or do not count.
func (r *resizing) taps(at float64) map[int]float64 {
	kernel, reach := func(t float64) float64 { return max(1-math.Abs(t), 0) }, 1.0
	switch r.mode {
	case "linear", "bilinear":
	case "cubic":
		kernel, reach = r.cubicWeight, 2
	default:
		refuse("mode %s", r.mode)
	}
	shrink := 1.0
	if r.antialias && r.scale < 1 {
		shrink = r.scale
	}
	taps, sum := map[int]float64{}, 0.0
	for i := int(math.Floor(at - reach/shrink)); i <= int(math.Ceil(at+reach/shrink)); i++ {
		w := kernel((float64(i) - at) * shrink)
		inside := i >= 0 && i < r.in
		if w == 0 || !inside && r.exclude {
			continue
		}
		taps[min(max(i, 0), r.in-1)] += w
		sum += w
	}
	for i := range taps {
		taps[i] /= sum
	}
	return taps
}

// cubicWeight is Keys' kernel.
func (r *resizing) cubicWeight(t float64) float64 {
	a := r.cubic
	switch t = math.Abs(t); {
	case t <= 1:
		return (a+2)*t*t*t - (a+3)*t*t + 1
	case t < 2:
		return a*t*t*t - 5*a*t*t + 8*a*t - 4*a
	}
	return 0
}
