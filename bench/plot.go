package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/report/plot"
)

// growthPlot plots the time of a step in the best block over batch, width and depth. Both axes are
// logarithmic; there is one line for each number of threads.
func growthPlot(r *result) []byte {
	var panels []plot.Panel
	for i, axis := range []string{"batch", "width", "depth"} {
		panels = append(panels, growthPanel(r, axis, i))
	}
	return plot.SVG(panels...)
}

// growthPanel is the plot over one of the three numbers of a case.
func growthPanel(r *result, axis string, index int) plot.Panel {
	lines := map[int][][2]float64{} // by threads
	base := [3]int{128, 512, 2}
	for _, x := range r.Rows {
		var n [3]int
		if _, err := fmt.Sscanf(x.Case, "%dx%dx%d", &n[0], &n[1], &n[2]); err != nil {
			continue
		}
		at := n[index]
		n[index] = base[index]
		if n == base && x.Contender == ours {
			lines[x.Threads] = append(lines[x.Threads], [2]float64{float64(at), x.Min})
		}
	}
	p := plot.Panel{Title: "ms per step over " + axis, Label: short}
	for _, threads := range slices.Sorted(maps.Keys(lines)) {
		points := lines[threads]
		slices.SortFunc(points, func(a, b [2]float64) int { return int(a[0] - b[0]) })
		p.Lines = append(p.Lines, plot.Line{Name: fmt.Sprint("threads: ", threads), Points: points})
	}
	return p
}
