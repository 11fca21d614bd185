package tabular

// Histogram counts the numbers of a column in bars of equal width, of the rows of the sample: bar k holds those from edges[k] on,
// the last one its end, too. There are none where the column has no different numbers.
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
		if v, ok := parseNumber(row[column], p.Form.Decimal); ok && v >= c.Min && v <= c.Max {
			counts[min(int((v-c.Min)/width), bars-1)]++
		}
	}
	return edges, counts
}
