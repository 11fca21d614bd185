package plot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Panel is one diagram. Both axes are logarithmic: all coordinates must be positive.
type Panel struct {
	Title string
	Lines []Line
	Label func(float64) string // formats the values of the vertical axis; nil: three digits
}

// Line joins points, sorted by the first coordinate. The first line's points are the
// ticks of the horizontal axis.
type Line struct {
	Name   string
	Points [][2]float64
	Rings  [][2]float64 // values to compare with the line, drawn as circles of its colour
}

// The dimensions of a panel, in pixels.
const (
	width, height = 320, 340
	side          = 230 // of the square with the points
)

// SVG draws panels side by side.
func SVG(panels ...Panel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width*len(panels), height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width*len(panels), height)
	for i, p := range panels {
		p.draw(&b, width*i)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// span is the smallest and largest of coordinate i.
func (p Panel) span(i int) (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, l := range p.Lines {
		for _, xy := range slices.Concat(l.Points, l.Rings) {
			lo, hi = min(lo, xy[i]), max(hi, xy[i])
		}
	}
	return lo, max(hi, lo*1.01)
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (p Panel) draw(b *bytes.Buffer, left int) {
	fmt.Fprintf(b, `<text x="%d" y="20">%s</text><path d="M%d 40V290H%d" stroke="#888" fill="none"/>`+"\n", left+60, escape.Replace(p.Title), left+50, left+300)
	x0, x1 := p.span(0)
	y0, y1 := p.span(1)
	if !(x0 > 0 && y0 > 0 && x1 <= math.MaxFloat64 && y1 <= math.MaxFloat64) {
		return // no finite range
	}
	place := func(xy [2]float64) (float64, float64) {
		return float64(left) + 60 + side*math.Log(xy[0]/x0)/math.Log(x1/x0), 280 - side*math.Log(xy[1]/y0)/math.Log(y1/y0)
	}
	label := p.Label
	if label == nil {
		label = func(y float64) string {
			return strconv.FormatFloat(y, 'f', max(0, 2-int(math.Floor(math.Log10(y)))), 64)
		}
	}
	for _, y := range []float64{y0, math.Sqrt(y0 * y1), y1} {
		_, at := place([2]float64{x0, y})
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%s</text>`+"\n", left+46, at+4, escape.Replace(label(y)))
	}
	for i, l := range p.Lines {
		l.draw(b, left, i, place)
	}
}

var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd"}

// draw draws the i-th line of a panel.
func (l Line) draw(b *bytes.Buffer, left, i int, place func([2]float64) (x, y float64)) {
	colour := colours[i%len(colours)]
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+70, 50+15*i, colour, escape.Replace(l.Name))
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" points="`, colour)
	for _, xy := range l.Points {
		x, y := place(xy)
		fmt.Fprintf(b, "%.0f,%.0f ", x, y)
	}
	fmt.Fprintln(b, `"/>`)
	for _, xy := range l.Points {
		x, y := place(xy)
		fmt.Fprintf(b, `<circle cx="%.0f" cy="%.0f" r="3" fill="%s"/>`, x, y, colour)
		if i == 0 {
			fmt.Fprintf(b, `<text x="%.0f" y="305" text-anchor="middle">%.0f</text>`, x, xy[0])
		}
	}
	for _, xy := range l.Rings {
		x, y := place(xy)
		fmt.Fprintf(b, `<circle cx="%.0f" cy="%.0f" r="6" fill="none" stroke="%s"/>`, x, y, colour)
	}
}
