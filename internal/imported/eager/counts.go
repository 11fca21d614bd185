package eager

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// countsOps count values into sparse tensors, and do what goes with numbers of few kinds.
var countsOps = map[*ops.Def]maker{
	ops.DenseCountSparseOutput:  countSparse(denseCounts),
	ops.SparseCountSparseOutput: countSparse(sparseCounts),
	ops.RaggedCountSparseOutput: countSparse(raggedCounts),
	ops.PopulationCount: plain(numbers(nil, nil, eachOf(func(x int8) uint8 { return ones(uint8(x)) }), eachOf(func(x int16) uint8 { return ones(uint16(x)) }),
		eachOf(func(x int32) uint8 { return ones(uint32(x)) }), eachOf(func(x int64) uint8 { return ones(uint64(x)) }), eachOf(ones[uint8]), eachOf(ones[uint16]), eachOf(ones[uint32]), eachOf(ones[uint64])).on(0)),
	ops.Cross:               plain(numbers(crossOf[float32], crossOf[float64], crossOf[int8], crossOf[int16], crossOf[int32], crossOf[int64], crossOf[uint8], crossOf[uint16], crossOf[uint32], crossOf[uint64]).on(0)),
	ops.CumulativeLogsumexp: cumulativeLogsumexp,
}

func ones[T uint8 | uint16 | uint32 | uint64](x T) uint8 { return uint8(bits.OnesCount64(uint64(x))) }

// group is one row of values to count, with their places among all values.
type group struct{ at []int }

// groups are rows of values: the values and weights are inputs of a count.
type groups struct {
	rows   []group
	values int   // which input
	shape  []int // of the rows, before the dimension of the values
}

// counting are the attributes of the counts.
type counting struct {
	least, most int
	binary      bool
	out         tensor.DType
}

func countSparse(of func(c call) (groups, error)) maker {
	return func(s *site) (kernel, error) {
		k := counting{s.node.Int("minlength", -1), s.node.Int("maxlength", -1), s.boolean("binary_output", false), s.dtype("output_type", tensor.Int64)}
		return func(c call) error {
			g, err := of(c)
			if err != nil {
				return err
			}
			return k.count(c, g)
		}, nil
	}
}

func denseCounts(c call) (groups, error) {
	shape := c.t(0).Shape
	if len(shape) != 1 && len(shape) != 2 {
		return groups{}, fmt.Errorf("Input must be a 1 or 2-dimensional tensor. Got shape %s", shapeText(shape))
	}
	if c.t(0).Len() == 0 {
		return groups{}, fmt.Errorf("Invalid input: Shapes dimension cannot be 0.")
	}
	n := shape[len(shape)-1]
	g := groups{shape: shape[:len(shape)-1], rows: make([]group, product(shape[:len(shape)-1]))}
	for i := range g.rows {
		for k := range n {
			g.rows[i].at = append(g.rows[i].at, i*n+k)
		}
	}
	return g, nil
}

func sparseCounts(c call) (groups, error) {
	places, shape := c.t(0), c.t(2)
	dims, err := vector("dense_shape", shape)
	if err != nil {
		return groups{}, err
	}
	if places.DType != tensor.Int64 || len(places.Shape) != 2 || places.Shape[1] != len(dims) || len(dims) < 1 || len(dims) > 2 || places.Shape[0] != c.t(1).Len() {
		return groups{}, fmt.Errorf("indices of shape %s and dense_shape %v: expected one or two dimensions and an index for each of %d values", shapeText(places.Shape), dims, c.t(1).Len())
	}
	n := 1
	if len(dims) == 2 {
		n = dims[0]
	}
	if _, err := elements(dims); err != nil {
		return groups{}, err
	}
	if err := c.room(n, 24); err != nil {
		return groups{}, err
	}
	g := groups{values: 1, shape: dims[:len(dims)-1], rows: make([]group, n)}
	at := tensor.Values[int64](places)
	for i := range places.Shape[0] {
		row := int64(0)
		if len(dims) == 2 {
			row = at[2*i]
		}
		if row < 0 || row >= int64(n) {
			return groups{}, fmt.Errorf("Index value along the first dimension must be less than the first dimension size: got %d, expected less than %d", row, n)
		}
		g.rows[row].at = append(g.rows[row].at, i)
	}
	return g, nil
}

func raggedCounts(c call) (groups, error) {
	ends, err := vector("splits", c.t(0))
	if err != nil {
		return groups{}, err
	}
	if len(ends) < 1 || ends[0] != 0 || ends[len(ends)-1] != c.t(1).Len() || !slices.IsSorted(ends) {
		return groups{}, fmt.Errorf("Splits must start with 0 and end with the number of values, %d, in order: got %v", c.t(1).Len(), ends)
	}
	g := groups{values: 1, shape: []int{len(ends) - 1}, rows: make([]group, len(ends)-1)}
	for i := range g.rows {
		for k := ends[i]; k < ends[i+1]; k++ {
			g.rows[i].at = append(g.rows[i].at, k)
		}
	}
	return g, nil
}

// count writes the sparse counts of rows; their weights are the last input.
func (k counting) count(c call, g groups) error {
	values, err := integers("values", c.t(g.values))
	if err != nil {
		return err
	}
	w := c.t(len(c.in) - 1)
	if w.Len() > 0 && (w.Len() != len(values) || w.DType != k.out || k.binary) {
		return fmt.Errorf("Weights and values must have the same size, and output_type their type, without binary_output: got %d weights of %v for %d values", w.Len(), w.DType, len(values))
	}
	if err := c.room(len(values), 64); err != nil {
		return err
	}
	width := 0
	rows := make([]map[int]float64, len(g.rows))
	for i, row := range g.rows {
		rows[i] = map[int]float64{}
		for _, at := range row.at {
			v := values[at]
			if v < 0 {
				return fmt.Errorf("Input values must all be non-negative")
			}
			if k.most >= 0 && v >= k.most {
				continue
			}
			width = max(width, v+1)
			switch {
			case w.Len() > 0:
				rows[i][v] += w.Float(at)
			case k.binary:
				rows[i][v] = 1
			default:
				rows[i][v]++
			}
		}
	}
	width = max(width, k.least, 0)
	if k.most >= 0 {
		width = k.most
	}
	return k.write(c, g.shape, rows, width)
}

func (k counting) write(c call, shape []int, rows []map[int]float64, width int) error {
	n := 0
	for _, r := range rows {
		n += len(r)
	}
	dims := len(shape) + 1
	places, err := outputOf[int64](c, 0, n, dims)
	if err != nil {
		return err
	}
	sums, err := c.alloc(tensor.Float64, n)
	if err != nil {
		return err
	}
	at := 0
	for i, r := range rows {
		for _, v := range slices.Sorted(maps.Keys(r)) {
			if dims == 2 {
				places[2*at] = int64(i)
			}
			places[(at+1)*dims-1] = int64(v)
			tensor.Values[float64](sums)[at] = r[v]
			at++
		}
	}
	out, err := recastTo(c, sums, k.out)
	if err != nil {
		return err
	}
	c.set(1, out)
	return c.outputInts(2, tensor.Int64, append(slices.Clone(shape), width), dims)
}

// crossOf is the product of vectors of three numbers.
func crossOf[T number](c call) error {
	a, b := c.t(0), c.t(1)
	r := len(a.Shape)
	if r < 1 || !slices.Equal(a.Shape, b.Shape) || a.Shape[r-1] != 3 || a.DType != b.DType {
		return fmt.Errorf("Cross product expects vectors of 3 elements in equal shapes, got %s and %s", shapeText(a.Shape), shapeText(b.Shape))
	}
	dst, err := outputOf[T](c, 0, a.Shape...)
	if err != nil {
		return err
	}
	x, y := tensor.Values[T](a), tensor.Values[T](b)
	for i := 0; i < len(dst); i += 3 {
		for k := range 3 {
			p, q := i+(k+1)%3, i+(k+2)%3
			dst[i+k] = x[p]*y[q] - x[q]*y[p]
		}
	}
	return nil
}

// cumulativeLogsumexp sums along a dimension numbers of which the logarithms are there.
func cumulativeLogsumexp(s *site) (kernel, error) {
	e, r := s.boolean("exclusive", false), s.boolean("reverse", false)
	return floats(logSums[float32](e, r), logSums[float64](e, r)).on(0), nil
}

func logSums[T float](exclusive, backwards bool) kernel {
	return func(c call) error {
		t := c.t(0)
		k, err := axisOf("axis", c.t(1), len(t.Shape))
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, t.Shape...)
		if err != nil {
			return err
		}
		l, src := laneOf(t.Shape, k), tensor.Values[T](t)
		l.each(func(_, first int) {
			acc := math.Inf(-1)
			for i := range l.n {
				if backwards {
					i = l.n - 1 - i
				}
				at := first + i*l.inner
				before := acc
				if v := float64(src[at]); v == acc {
					acc += math.Ln2
				} else {
					acc = sumOfLogs(acc, v)
				}
				if dst[at] = T(acc); exclusive {
					dst[at] = T(max(before, math.Inf(-1)))
				}
				if exclusive && math.IsInf(before, -1) {
					dst[at] = lowestOf[T]()
				}
			}
		})
		return nil
	}
}

// lowestOf is what TensorFlow takes for the logarithm of nothing.
func lowestOf[T float]() T {
	lowest := -math.MaxFloat64
	if tensor.TypeOf[T]() == tensor.Float32 {
		lowest = -math.MaxFloat32
	}
	return T(lowest)
}
