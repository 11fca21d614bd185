package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// growthPlot draws the time of a step, that of the best block, over batch, width and depth, both axes
// logarithmic, one line for each number of threads.
func growthPlot(r *result) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="340" font-family="sans-serif" font-size="12">`, "\n",
		`<rect width="960" height="340" fill="white"/>`, "\n")
	for i, axis := range []string{"batch", "width", "depth"} {
		newPanel(r, axis, i).draw(&b, 320*i)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// panel is the plot over one of the three numbers of a case.
type panel struct {
	axis   string
	points map[int][][2]float64 // by threads: x and milliseconds, sorted
}

func newPanel(r *result, axis string, index int) panel {
	p := panel{axis, map[int][][2]float64{}}
	base := [3]int{128, 512, 2}
	for _, x := range r.Rows {
		var n [3]int
		if _, err := fmt.Sscanf(x.Case, "%dx%dx%d", &n[0], &n[1], &n[2]); err != nil {
			continue
		}
		at := n[index]
		n[index] = base[index]
		if n == base && x.Contender == ours {
			p.points[x.Threads] = append(p.points[x.Threads], [2]float64{float64(at), x.Min})
		}
	}
	for _, v := range p.points {
		slices.SortFunc(v, func(a, b [2]float64) int { return int(a[0] - b[0]) })
	}
	return p
}

// span is the smallest and largest of coordinate i.
func (p panel) span(i int) (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, v := range p.points {
		for _, xy := range v {
			lo, hi = min(lo, xy[i]), max(hi, xy[i])
		}
	}
	return lo, max(hi, lo*1.01)
}

func (p panel) draw(b *bytes.Buffer, left int) {
	colours := []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd"}
	x0, x1 := p.span(0)
	y0, y1 := p.span(1)
	place := func(xy [2]float64) (float64, float64) {
		return float64(left) + 60 + 230*math.Log(xy[0]/x0)/math.Log(x1/x0), 280 - 230*math.Log(xy[1]/y0)/math.Log(y1/y0)
	}
	fmt.Fprintf(b, `<text x="%d" y="20">ms per step over %s</text><path d="M%d 40V290H%d" stroke="#888" fill="none"/>`+"\n", left+60, p.axis, left+50, left+300)
	for _, y := range []float64{y0, math.Sqrt(y0 * y1), y1} {
		_, at := place([2]float64{x0, y})
		fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end">%s</text>`+"\n", left+46, at+4, short(y))
	}
	line := 0
	for threads := range 1 << 10 {
		points := p.points[threads]
		if len(points) == 0 {
			continue
		}
		colour := colours[line%len(colours)]
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">threads: %d</text>`+"\n", left+70, 50+15*line, colour, threads)
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" points="`, colour)
		for _, xy := range points {
			x, y := place(xy)
			fmt.Fprintf(b, "%.0f,%.0f ", x, y)
		}
		fmt.Fprintln(b, `"/>`)
		for _, xy := range points {
			x, y := place(xy)
			fmt.Fprintf(b, `<circle cx="%.0f" cy="%.0f" r="3" fill="%s"/>`, x, y, colour)
			if line == 0 {
				fmt.Fprintf(b, `<text x="%.0f" y="305" text-anchor="middle">%.0f</text>`, x, xy[0])
			}
		}
		line++
	}
}
