package tabular

// Histogram counts the numbers of a column in the sample, in bars of equal width. Bar k counts numbers from edges[k] to below
// edges[k+1]; the last bar includes its upper edge. It is nil if the column does not have different numbers.
func (p *Profile) Histogram(column, bars int) (edges []float64, counts []int) {
	c := p.Columns[column]
	width := (c.Max - c.Min) / float64(bars)
	if c.Kind != Number || !(width > 0) || width > 1e300 {
		return nil, nil
	}
	for k := range bars + 1 {
		edges = append(edges, c.Min+float64(k)*width)
	}
	counts = make([]int, bars)
	for _, row := range p.sample {
		if v, ok := p.number(column, row[column]); ok && v >= c.Min && v <= c.Max {
			counts[min(int((v-c.Min)/width), bars-1)]++
		}
	}
	return edges, counts
}
