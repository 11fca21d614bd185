package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// gridSampler reads images at any position.
type gridSampler[T float32 | float64] struct {
	mode, padding string
	align         bool
	sizes         []int // spatial sizes of an image
}

func gridSample(s *site) (kernel, error) {
	mode, padding, align := s.str("mode", "linear"), s.str("padding", "zeros"), s.boolean("align_corners", false)
	return func(c call) error {
		if err := want("grid", c.t(1), c.t(0).DType); err != nil {
			return err
		}
		if c.t(0).DType == tensor.Float64 {
			return gridSampler[float64]{mode: mode, padding: padding, align: align}.run(c)
		}
		return gridSampler[float32]{mode: mode, padding: padding, align: align}.run(c)
	}, nil
}

// run samples each position of the grid in all channels.
func (g gridSampler[T]) run(c call) error {
	x, grid := c.t(0).Shape, c.t(1).Shape
	n := len(x) - 2
	switch {
	case n < 1 || n > 3 || len(grid) != n+2 || grid[n+1] != n || x[0] != grid[0]:
		return fmt.Errorf("images of shape %v and a grid of shape %v: expected images of rank 3 to 5, and a place in each direction", x, grid)
	case g.mode == "cubic" && n != 2:
		return fmt.Errorf("mode cubic of images of %d directions: expected 2", n)
	}
	g.sizes = x[2:]
	size, places := tensor.NumElements(x[2:]), tensor.NumElements(grid[1:n+1])
	dst, err := outputOf[T](c, 0, slices.Concat(x[:2], grid[1:n+1])...)
	if err != nil || len(dst) == 0 {
		return err
	}
	if size == 0 {
		return fmt.Errorf("images of shape %v have no pixels", x)
	}
	src, at := tensor.Values[T](c.t(0)), tensor.Values[T](c.t(1))
	place := make([]T, n)
	for b := range x[0] {
		for p := range places {
			if p%1024 == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			for i := range place { // x comes first
				place[n-1-i] = g.pixel(at[(b*places+p)*n+i], n-1-i)
			}
			for ch := range x[1] {
				k := b*x[1] + ch
				dst[k*places+p] = g.sample(src[k*size:(k+1)*size], place)
			}
		}
	}
	return nil
}

// ends returns the positions where images end along dimension i.
func (g gridSampler[T]) ends(i int) (low, high T) {
	if g.align {
		return 0, T(g.sizes[i] - 1)
	}
	return -0.5, T(g.sizes[i]) - 0.5
}

// pixel converts a position of the grid to pixels along dimension i.
func (g gridSampler[T]) pixel(at T, i int) T {
	n := T(g.sizes[i])
	if g.align {
		at = (at + 1) / 2 * (n - 1)
	} else {
		at = ((at+1)*n - 1) / 2
	}
	if g.mode == "nearest" {
		at = T(math.RoundToEven(float64(at)))
	}
	low, high := g.ends(i)
	if !(at < low || at > high) || g.mode == "cubic" { // cubic mode handles the padding of each pixel itself
		return at
	}
	switch g.padding {
	case "border":
		return min(max(at, 0), n-1)
	case "reflection":
		return reflected(at, low, high)
	}
	return at
}

// reflected reflects a position into [low, high].
func reflected[T float32 | float64](at, low, high T) T {
	span := high - low
	turn := func(by T) (T, bool) {
		n := T(math.Trunc(float64(by / span)))
		return by - n*span, math.Mod(float64(n), 2) == 0
	}
	switch {
	case span <= 0:
		return low
	case at < low:
		if r, even := turn(low - at); even {
			return low + r
		} else {
			return high - r
		}
	case at > high:
		if r, even := turn(at - high); even {
			return high - r
		} else {
			return low + r
		}
	}
	return at
}

// index returns the pixel at an integral position along dimension i; false if there is none.
func (g gridSampler[T]) index(at T, i int) (int, bool) {
	n := g.sizes[i]
	switch g.padding {
	case "border":
		at = min(max(at, 0), T(n-1))
	case "reflection":
		low, high := g.ends(i)
		at = min(max(reflected(at, low, high), 0), T(n-1))
	}
	if !(at >= 0 && at <= T(n-1)) {
		return 0, false
	}
	return min(int(at), n-1), true // T(n-1) may be rounded up
}

// sample reads an image at a position.
func (g gridSampler[T]) sample(src []T, place []T) T {
	switch g.mode {
	case "nearest":
		return g.read(src, place)
	case "cubic":
		return g.cubic(src, place)
	}
	return g.linear(src, place, make([]T, 0, 3))
}

// read returns the pixel at an integral position.
func (g gridSampler[T]) read(src []T, place []T) T {
	at := 0
	for i, p := range place {
		k, inside := g.index(p, i)
		if !inside {
			return 0
		}
		at = at*g.sizes[i] + k
	}
	return src[at]
}

// linear interpolates along the remaining dimensions: fixed has the integral positions along the earlier ones.
func (g gridSampler[T]) linear(src []T, place, fixed []T) T {
	i := len(fixed)
	if i == len(place) {
		return g.read(src, fixed)
	}
	low := T(math.Floor(float64(place[i])))
	part := place[i] - low
	return (low+1-place[i])*g.linear(src, place, append(fixed, low)) + part*g.linear(src, place, append(fixed, low+1))
}

// cubic combines 4 by 4 pixels.
func (g gridSampler[T]) cubic(src []T, place []T) T {
	y, x := T(math.Floor(float64(place[0]))), T(math.Floor(float64(place[1])))
	down, across := cubicParts(place[0]-y), cubicParts(place[1]-x)
	var sum T
	for i := range 4 {
		var row T
		for k := range 4 {
			row += across[k] * g.read(src, []T{y + T(i-1), x + T(k-1)})
		}
		sum += down[i] * row
	}
	return sum
}

// cubicParts returns the weights of four adjacent pixels, at distance t from the second one: Keys' kernel with a = -0.75.
func cubicParts[T float32 | float64](t T) [4]T {
	const a = -0.75
	far := func(t T) T { return ((a*t-5*a)*t+8*a)*t - 4*a }
	near := func(t T) T { return ((a+2)*t-(a+3))*t*t + 1 }
	return [4]T{far(t + 1), near(t), near(1 - t), far(2 - t)}
}
