package eager

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/fingerprint"
	"github.com/goestimator/goestimator/tensor"
)

// crossOps combine the values of several sparse and dense columns row by row.
var crossOps = map[*ops.Def]maker{
	ops.SparseCross:       sparseCross,
	ops.SparseCrossV2:     sparseCrossV2,
	ops.SparseCrossHashed: sparseCrossHashed,
	ops.RaggedCross:       raggedCross,
}

// crossColumn is one column of a cross.
type crossColumn struct {
	values *tensor.Tensor
	starts []int // for a sparse column: where each row's values start, and the end of the last
	width  int   // for a dense column
}

// row returns the first value of a row, and the number of its values.
func (x crossColumn) row(i int) (first, n int) {
	if x.starts != nil {
		return x.starts[i], x.starts[i+1] - x.starts[i]
	}
	return i * x.width, x.width
}

// crossInputs has the number of columns: N sparse ones (indices, then
// values, then shapes), then the dense ones.
type crossInputs struct {
	sparse, dense int
	texts         bool // all values must be strings
}

func crossCounts(s *site) crossInputs {
	return crossInputs{s.count("N", 0, 1<<12), len(list[tensor.DType](s, "dense_types")), s.dtype("internal_type", tensor.Int64) == tensor.String}
}

// columns reads the columns from the first 3·sparse+dense inputs.
func (x crossInputs) columns(c call, extra int) (cols []crossColumn, batch int, err error) {
	n := x.sparse
	if len(c.in) != 3*n+x.dense+extra || n+x.dense == 0 {
		return nil, 0, fmt.Errorf("expected %d inputs, got %d", 3*n+x.dense+extra, len(c.in))
	}
	if n > 0 {
		shape, err := c.integers("shapes[0]", c.t(2*n))
		if err != nil || len(shape) == 0 {
			return nil, 0, fmt.Errorf("shapes[0]: expected int64 sizes, got %v of shape %v", c.t(2*n).DType, c.t(2*n).Shape)
		}
		batch = shape[0]
	} else if d := c.t(0); len(d.Shape) > 0 {
		batch = d.Shape[0]
	}
	if batch < 0 {
		return nil, 0, fmt.Errorf("expected no negative batch size, got %d", batch)
	}
	if err := c.payRows(batch, n); err != nil {
		return nil, 0, err
	}
	for i := range n {
		col, err := sparseCrossColumn(c.t(i), c.t(n+i), c.t(2*n+i), batch)
		if err != nil {
			return nil, 0, fmt.Errorf("sparse column %d: %w", i, err)
		}
		cols = append(cols, col)
	}
	for i := range x.dense {
		t := c.t(3*n + i)
		if len(t.Shape) != 2 || t.Shape[0] != batch {
			return nil, 0, fmt.Errorf("dense column %d: expected shape [%d,n], got %v", i, batch, t.Shape)
		}
		cols = append(cols, crossColumn{values: t, width: t.Shape[1]})
	}
	for i, col := range cols {
		if col.values.DType != tensor.Int64 && col.values.DType != tensor.String {
			return nil, 0, fmt.Errorf("column %d: expected int64 or strings, got %v", i, col.values.DType)
		}
		if x.texts && col.values.DType != tensor.String {
			return nil, 0, fmt.Errorf("Input values should be of internal type %d but received %d", tensor.String, col.values.DType)
		}
	}
	return cols, batch, nil
}

// payRows pays for the starts of rows in n columns, and for the counts of their combinations.
func (c call) payRows(batch, n int) error {
	if batch >= c.env.limit()/intBytes/(n+1) {
		return fmt.Errorf("%w: %d rows of %d columns", ErrLimit, batch, n)
	}
	return c.room((batch+1)*(n+1), intBytes)
}

func sparseCrossColumn(indices, values, shape *tensor.Tensor, batch int) (crossColumn, error) {
	s, err := coordsOf(indices, values, shape)
	if err != nil {
		return crossColumn{}, err
	}
	if s.rank() != 2 || s.shape[0] != batch {
		return crossColumn{}, fmt.Errorf("expected shape [%d,n], got %v", batch, s.shape)
	}
	starts := make([]int, batch+1)
	last := int64(0)
	for i := range s.n {
		v := s.row(i)[0]
		if v < last || v >= int64(batch) {
			return crossColumn{}, fmt.Errorf("indices[%d] = %v: expected rows in order, below %d", i, s.row(i), batch)
		}
		last = v
		starts[v+1]++
	}
	for i := range batch {
		starts[i+1] += starts[i]
	}
	return crossColumn{values: values, starts: starts}, nil
}

// combinations counts the combinations of each row: none if a column has no value.
func combinations(cols []crossColumn, batch int) (counts []int, total, most int, err error) {
	counts = make([]int, batch)
	for i := range batch {
		n := 1
		for _, col := range cols {
			_, m := col.row(i)
			switch {
			case m == 0:
				n = 0
			case n > math.MaxInt32/m:
				n = math.MaxInt32 + 1
			default:
				n *= m
			}
		}
		if n > math.MaxInt32 {
			return nil, 0, 0, fmt.Errorf("%w: row %d has too many combinations", ErrLimit, i)
		}
		counts[i] = n
		total, most = total+n, max(most, n)
	}
	return counts, total, most, nil
}

// combine calls emit for each combination of each row, the last column varying fastest. It passes the combination's number overall, its
// row and number in the row, and the indices of the columns' values.
func combine(c call, cols []crossColumn, counts []int, emit func(k, row, j int, at []int) error) error {
	k := 0
	at, sub := make([]int, len(cols)), make([]int, len(cols))
	for i, n := range counts {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		clear(sub)
		for j := range n {
			for x, col := range cols {
				first, _ := col.row(i)
				at[x] = first + sub[x]
			}
			if err := emit(k, i, j, at); err != nil {
				return err
			}
			k++
			for x := len(cols) - 1; x >= 0; x-- {
				_, m := cols[x].row(i)
				if sub[x]++; sub[x] < m {
					break
				}
				sub[x] = 0
			}
		}
	}
	return nil
}

// cross makes the sparse outputs: for each row, one value per combination. emit sets the value of output k
// from the columns' values with the given indices.
func cross(c call, cols []crossColumn, batch int, d tensor.DType, emit func(out *tensor.Tensor, k int, at []int) error) error {
	counts, total, most, err := combinations(cols, batch)
	if err != nil {
		return err
	}
	index, err := outputOf[int64](c, 0, total, 2)
	if err != nil {
		return err
	}
	out, err := c.output(1, d, total)
	if err != nil {
		return err
	}
	err = combine(c, cols, counts, func(k, row, j int, at []int) error {
		index[2*k], index[2*k+1] = int64(row), int64(j)
		return emit(out, k, at)
	})
	if err != nil {
		return err
	}
	return c.outputInts(2, tensor.Int64, []int{batch, most}, 2)
}

// bucket returns a hash modulo the number of buckets; 0 means the largest number.
func bucket(h uint64, buckets int) int64 {
	if buckets > 0 {
		return int64(h % uint64(buckets))
	}
	return int64(h % math.MaxInt64)
}

// hashOf returns the hash of a column's value for a cross.
func (x crossColumn) hashOf(i int, hash func([]byte) uint64) uint64 {
	if x.values.DType == tensor.String {
		return hash(x.values.Strings[i])
	}
	return uint64(tensor.Values[int64](x.values)[i])
}

func sparseCross(s *site) (kernel, error) {
	counts := crossCounts(s)
	buckets, key := s.node.Int("num_buckets", 0), uint64(s.node.Int("hash_key", 0))
	if buckets < 0 {
		return nil, fmt.Errorf("attribute num_buckets: expected no negative number, got %d", buckets)
	}
	if !s.boolean("hashed_output", false) {
		return func(c call) error { return joinCross(c, counts, 0, []byte("_X_")) }, nil
	}
	return func(c call) error {
		cols, batch, err := counts.columns(c, 0)
		if err != nil {
			return err
		}
		return cross(c, cols, batch, tensor.Int64, hashedCross(cols, key, buckets))
	}, nil
}

// joinCross makes strings: the values in decimal, with a separator between them.
func joinCross(c call, counts crossInputs, extra int, sep []byte) error {
	cols, batch, err := counts.columns(c, extra)
	if err != nil {
		return err
	}
	return cross(c, cols, batch, tensor.String, c.joinedCross(cols, sep))
}

// hashedCross returns a function that emits the hash of a combination, beginning with a key.
func hashedCross(cols []crossColumn, key uint64, buckets int) func(out *tensor.Tensor, k int, at []int) error {
	return func(out *tensor.Tensor, k int, at []int) error {
		h := key
		for x, i := range at {
			h = fingerprint.Cat64(h, cols[x].hashOf(i, fingerprint.Hash64))
		}
		tensor.Values[int64](out)[k] = bucket(h, buckets)
		return nil
	}
}

// joinedCross returns a function that emits the values of a combination in decimal, with a separator between them.
func (c call) joinedCross(cols []crossColumn, sep []byte) func(out *tensor.Tensor, k int, at []int) error {
	room := c.textRoom()
	return func(out *tensor.Tensor, k int, at []int) error {
		var s []byte
		for x, i := range at {
			if x > 0 {
				s = append(s, sep...)
			}
			if t := cols[x].values; t.DType == tensor.String {
				s = append(s, t.Strings[i]...)
			} else {
				s = strconv.AppendInt(s, tensor.Values[int64](t)[i], 10)
			}
		}
		out.Strings[k] = s
		return room.take(len(s))
	}
}

func sparseCrossV2(s *site) (kernel, error) {
	counts := crossCounts(s)
	return func(c call) error {
		if len(c.in) == 0 {
			return fmt.Errorf("expected a separator")
		}
		sep, err := text("sep", c.t(len(c.in)-1))
		if err != nil {
			return err
		}
		return joinCross(c, counts, 1, sep)
	}, nil
}

func sparseCrossHashed(s *site) (kernel, error) {
	counts := crossCounts(s)
	return func(c call) error {
		cols, batch, err := counts.columns(c, 3)
		if err != nil {
			return err
		}
		last := len(c.in)
		buckets, err := integer("num_buckets", c.t(last-3))
		if err != nil {
			return err
		}
		strong, salt := tensor.Values[bool](c.t(last-2)), tensor.Values[int64](c.t(last-1))
		if len(strong) != 1 || len(salt) != 2 || buckets < 0 {
			return fmt.Errorf("num_buckets %d, strong_hash of shape %v and salt of shape %v: expected no negative number, a boolean and 2 numbers", buckets, c.t(last-2).Shape, c.t(last-1).Shape)
		}
		hash := fingerprint.Hash64
		if strong[0] {
			hash = func(s []byte) uint64 { return fingerprint.Sip64([2]uint64{uint64(salt[0]), uint64(salt[1])}, s) }
		}
		return cross(c, cols, batch, tensor.Int64, func(out *tensor.Tensor, k int, at []int) error {
			h := cols[0].hashOf(at[0], hash)
			for x, i := range at[1:] {
				h = fingerprint.Cat64(h, cols[x+1].hashOf(i, hash))
			}
			tensor.Values[int64](out)[k] = bucket(h, buckets)
			return nil
		})
	}, nil
}
