package glyphs

import "math"

// point is a point in the unit square, with y downwards.
type point struct{ x, y float32 }

type stroke []point

// digits holds the strokes of each class.
var digits = [10][]stroke{
	{arc(.5, .5, .27, .41, 0, 360, 14)},
	{{{.33, .27}, {.54, .09}, {.54, .91}}},
	{join(arc(.5, .33, .25, .23, 190, 375, 8), stroke{{.26, .9}, {.78, .9}})},
	{join(arc(.47, .3, .24, .21, 200, 440, 8), arc(.46, .7, .27, .22, -80, 150, 9))},
	{{{.6, .08}, {.2, .62}, {.82, .62}}, {{.62, .38}, {.62, .92}}},
	{join(stroke{{.74, .1}, {.34, .1}, {.3, .47}}, arc(.48, .66, .25, .25, 235, 500, 9))},
	{join(stroke{{.68, .09}, {.42, .3}, {.28, .58}}, arc(.5, .67, .23, .24, 180, 540, 11))},
	{{{.22, .11}, {.78, .11}, {.42, .92}}},
	{arc(.5, .3, .2, .2, 90, 450, 10), arc(.5, .71, .25, .21, -90, 270, 11)},
	{join(arc(.49, .33, .22, .23, 0, 360, 11), stroke{{.7, .6}, {.56, .92}})},
}

// arc returns a polyline of n segments along an ellipse, from one angle to
// another in degrees; 0 is to the right, 90 downwards.
func arc(cx, cy, rx, ry, from, to float64, n int) stroke {
	s := make(stroke, n+1)
	for i := range s {
		sin, cos := math.Sincos((from + (to-from)*float64(i)/float64(n)) * math.Pi / 180)
		s[i] = point{float32(cx + rx*cos), float32(cy + ry*sin)}
	}
	return s
}

func join(parts ...stroke) stroke {
	var out stroke
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
