package eager

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// countsOps count values into sparse tensors; the map also has some other ops for few number types.
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

// toCount is a value to count.
type toCount struct{ row, value, at int } // at: the index among all values

// countedBytes is the memory of a value to count, with its copies as an integer and as a row.
const countedBytes = 48

// groups are rows of values.
type groups struct {
	rows   []int // row of each value
	values int   // index of the input that has them
	shape  []int // shape of the rows, without the dimension of the values
}

// counting has the attributes of the count ops.
type counting struct {
	least, most int
	binary      bool
}

func countSparse(of func(c call) (groups, error)) maker {
	return func(s *site) (kernel, error) {
		k := counting{s.node.Int("minlength", -1), s.node.Int("maxlength", -1), s.boolean("binary_output", false)}
		write := map[tensor.DType]func(c call, g groups, k counting) error{
			tensor.Int32: countInto[int32], tensor.Int64: countInto[int64], tensor.Float32: countInto[float32], tensor.Float64: countInto[float64],
		}[s.dtype("output_type", tensor.Int64)]
		if write == nil {
			return nil, fmt.Errorf("output_type %v %w", s.dtype("output_type", tensor.Int64), ErrUnsupported)
		}
		return func(c call) error {
			g, err := of(c)
			if err != nil {
				return err
			}
			return write(c, g, k)
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
	if err := c.room(c.t(0).Len(), countedBytes); err != nil {
		return groups{}, err
	}
	g := groups{shape: shape[:len(shape)-1], rows: make([]int, c.t(0).Len())}
	for i := range g.rows {
		g.rows[i] = i / shape[len(shape)-1]
	}
	return g, nil
}

func sparseCounts(c call) (groups, error) {
	places, shape := c.t(0), c.t(2)
	dims, err := c.vector("dense_shape", shape)
	if err != nil {
		return groups{}, err
	}
	if places.DType != tensor.Int64 || len(places.Shape) != 2 || places.Shape[1] != len(dims) || len(dims) < 1 || len(dims) > 2 || places.Shape[0] != c.t(1).Len() {
		return groups{}, fmt.Errorf("indices of shape %s and dense_shape %v: expected one or two dimensions and an index for each of %d values", shapeText(places.Shape), dims, c.t(1).Len())
	}
	if _, err := elements(dims); err != nil {
		return groups{}, err
	}
	if err := c.room(places.Shape[0], countedBytes); err != nil {
		return groups{}, err
	}
	g := groups{values: 1, shape: dims[:len(dims)-1], rows: make([]int, places.Shape[0])}
	if len(dims) == 1 {
		return g, nil
	}
	at := tensor.Values[int64](places)
	for i := range g.rows {
		row := at[2*i]
		if row < 0 || row >= int64(dims[0]) {
			return groups{}, fmt.Errorf("Index value along the first dimension must be less than the first dimension size: got %d, expected less than %d", row, dims[0])
		}
		g.rows[i] = int(row)
	}
	return g, nil
}

func raggedCounts(c call) (groups, error) {
	ends, err := c.vector("splits", c.t(0))
	if err != nil {
		return groups{}, err
	}
	if len(ends) < 1 || ends[0] != 0 || ends[len(ends)-1] != c.t(1).Len() || !slices.IsSorted(ends) {
		return groups{}, fmt.Errorf("Splits must start with 0 and end with the number of values, %d, in order: got %v", c.t(1).Len(), ends)
	}
	if err := c.room(c.t(1).Len(), countedBytes); err != nil {
		return groups{}, err
	}
	g := groups{values: 1, shape: []int{len(ends) - 1}, rows: make([]int, c.t(1).Len())}
	for row := range len(ends) - 1 {
		for k := ends[row]; k < ends[row+1]; k++ {
			g.rows[k] = row
		}
	}
	return g, nil
}

// sorted returns the values below the limit, sorted by row and size, and the largest value plus one, or 1 if there is none.
func (k counting) sorted(g groups, values []int) (all []toCount, width int, err error) {
	all, width = make([]toCount, 0, len(values)), 1
	for at, v := range values {
		if v < 0 {
			return nil, 0, fmt.Errorf("Input values must all be non-negative")
		}
		if k.most >= 0 && v >= k.most {
			continue
		}
		width = max(width, v+1)
		all = append(all, toCount{g.rows[at], v, at})
	}
	slices.SortFunc(all, func(a, b toCount) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.value, b.value), cmp.Compare(a.at, b.at))
	})
	return all, width, nil
}

// countInto writes the sparse counts of rows; their weights are the last input.
func countInto[T int32 | int64 | float32 | float64](c call, g groups, k counting) error {
	values, err := c.integers("values", c.t(g.values))
	if err != nil {
		return err
	}
	w := c.t(len(c.in) - 1)
	if w.Len() > 0 && (w.Len() != len(values) || w.DType != tensor.TypeOf[T]() || k.binary) {
		return fmt.Errorf("Weights and values must have the same size, and output_type their type, without binary_output: got %d weights of %v for %d values", w.Len(), w.DType, len(values))
	}
	all, width, err := k.sorted(g, values)
	if err != nil {
		return err
	}
	if width = max(width, k.least); k.most >= 0 {
		width = k.most
	}
	n := 0
	for i, v := range all {
		if i == 0 || v.row != all[i-1].row || v.value != all[i-1].value {
			n++
		}
	}
	dims := len(g.shape) + 1
	places, err := outputOf[int64](c, 0, n, dims)
	if err != nil {
		return err
	}
	sums, err := outputOf[T](c, 1, n)
	if err != nil {
		return err
	}
	weights, to := tensor.Values[T](w), -1
	for i, v := range all {
		if i == 0 || v.row != all[i-1].row || v.value != all[i-1].value {
			to++
			places[to*dims], places[(to+1)*dims-1] = int64(v.row), int64(v.value)
		}
		switch {
		case len(weights) > 0:
			sums[to] += weights[v.at]
		case k.binary:
			sums[to] = 1
		default:
			sums[to]++
		}
	}
	return c.outputInts(2, tensor.Int64, append(slices.Clone(g.shape), width), dims)
}

// crossOf is the cross product of vectors of three elements.
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

// cumulativeLogsumexp sums numbers, given as logarithms, along a dimension.
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
			for step := range l.n {
				at := first + step*l.inner
				if backwards {
					at = first + (l.n-1-step)*l.inner
				}
				before := acc
				acc = sumOfTwoLogs(acc, float64(src[at]))
				if dst[at] = T(acc); exclusive {
					dst[at] = T(before)
				}
			}
		})
		return nil
	}
}

// sumOfTwoLogs is log(exp(acc)+exp(v)), ordering the two as TensorFlow does: a NaN in v is treated like acc.
func sumOfTwoLogs(acc, v float64) float64 {
	low, high := acc, acc
	if v < acc {
		low = v
	}
	if acc < v {
		high = v
	}
	if math.IsInf(high, -1) {
		return high
	}
	return high + math.Log1p(math.Exp(low-high))
}
