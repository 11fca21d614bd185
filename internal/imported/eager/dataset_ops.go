package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// datasetMaker resolves a node's attributes into a function that makes its dataset.
type datasetMaker func(s *site) func(in *inputs) (dataset.Dataset, error)

// datasetOps describe datasets. Passes over them begin with iterators.
var datasetOps = datasetTable()

func datasetTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{}
	for op, m := range map[*ops.Def]datasetMaker{
		ops.TensorDataset: always(func(in *inputs) (dataset.Dataset, error) { return dataset.Tensors(in.element("components")), nil }),
		ops.TensorSliceDataset: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Slices(in.element("components"))
		}),
		ops.SparseTensorSliceDataset: always(sparseSlices),
		ops.RangeDataset:             rangeDataset,
		ops.RandomDataset:            randomDataset,
		ops.RandomDatasetV2:          randomDataset,
		ops.TakeDataset:              always(func(in *inputs) (dataset.Dataset, error) { return dataset.Take(in.source(), in.int("count")), nil }),
		ops.SkipDataset:              always(func(in *inputs) (dataset.Dataset, error) { return dataset.Skip(in.source(), in.int("count")), nil }),
		ops.RepeatDataset:            always(func(in *inputs) (dataset.Dataset, error) { return dataset.Repeat(in.source(), in.int("count")), nil }),
		ops.ShardDataset:             shardDataset,
		ops.ZipDataset:               always(func(in *inputs) (dataset.Dataset, error) { return dataset.Zip(in.datasets("input_datasets")...), nil }),
		ops.ConcatenateDataset: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Concatenate(in.source(), in.dataset("another_dataset")), nil
		}),
		ops.DirectedInterleaveDataset: directedInterleave,
		ops.PrefetchDataset: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Prefetch(in.source(), in.int("buffer_size")), nil
		}),
		ops.UnbatchDataset:      always(func(in *inputs) (dataset.Dataset, error) { return dataset.Unbatch(in.source()), nil }),
		ops.IgnoreErrorsDataset: always(func(in *inputs) (dataset.Dataset, error) { return dataset.IgnoreErrors(in.source()), nil }),
		ops.WindowDataset: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Window(in.source(), in.int("size"), in.int("shift"), in.int("stride"), in.truth("drop_remainder"))
		}),
		ops.RebatchDatasetV2: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Rebatch(in.source(), in.sizes("batch_sizes"), in.truth("drop_remainder"))
		}),
		ops.AssertCardinalityDataset: always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Exactly(in.source(), in.int("cardinality")), nil
		}),
		ops.CacheDataset:        always(cacheDataset),
		ops.CacheDatasetV2:      always(cacheDataset),
		ops.ParseExampleDataset: parseDataset, ops.ParseExampleDatasetV2: parseDataset,
		ops.UniqueDataset: uniqueDataset,
	} {
		all[op] = makeDataset(m)
	}
	for _, op := range []*ops.Def{ops.BatchDataset, ops.BatchDatasetV2, ops.ParallelBatchDataset} {
		all[op] = makeDataset(always(func(in *inputs) (dataset.Dataset, error) {
			return dataset.Batch(in.source(), in.int("batch_size"), in.truth("drop_remainder"))
		}))
	}
	for _, op := range []*ops.Def{ops.PaddedBatchDataset, ops.PaddedBatchDatasetV2} {
		all[op] = makeDataset(always(paddedBatch))
	}
	for _, op := range []*ops.Def{ops.ShuffleDataset, ops.ShuffleDatasetV2, ops.ShuffleDatasetV3, ops.ShuffleAndRepeatDataset, ops.ShuffleAndRepeatDatasetV2} {
		all[op] = makeDataset(shuffleDataset)
	}
	// Ops that say how or where a pass is computed change no elements.
	for _, op := range []*ops.Def{ops.OptionsDataset, ops.ModelDataset, ops.OptimizeDataset, ops.OptimizeDatasetV2, ops.FinalizeDataset, ops.PrivateThreadPoolDataset,
		ops.MaxIntraOpParallelismDataset, ops.LatencyStatsDataset, ops.BytesProducedStatsDataset, ops.AssertNextDataset, ops.NonSerializableDataset, ops.RewriteDataset} {
		all[op] = makeDataset(always(func(in *inputs) (dataset.Dataset, error) { return in.source(), nil }))
	}
	all[ops.AutoShardDataset] = makeDataset(autoShard)
	for _, op := range []*ops.Def{ops.WrapDatasetVariant, ops.UnwrapDatasetVariant} {
		all[op] = plain(sameDataset)
	}
	all[ops.DatasetFromGraph] = plain(datasetFromGraph)
	all[ops.DatasetToGraph], all[ops.DatasetToGraphV2] = plain(datasetToGraph), plain(datasetToGraph)
	return all
}

// source is the input dataset that most transformations have.
func (in *inputs) source() dataset.Dataset { return in.dataset("input_dataset") }

// sizes returns an integer scalar or vector.
func (in *inputs) sizes(name string) []int64 {
	t := in.tensor(name)
	if t.DType != tensor.Int64 || len(t.Shape) > 1 {
		in.fail("%s: expected a scalar or a vector of int64", name)
	}
	return append([]int64(nil), tensor.Values[int64](t)...)
}

// always makes a datasetMaker for a dataset without attributes.
func always(f func(in *inputs) (dataset.Dataset, error)) datasetMaker {
	return func(*site) func(*inputs) (dataset.Dataset, error) { return f }
}

// makeDataset returns the maker of a kernel whose output is a dataset.
func makeDataset(m datasetMaker) maker {
	return func(s *site) (kernel, error) {
		l, f := s.layout(), m(s)
		return func(c call) error {
			in := &inputs{c: c, l: l}
			d, err := f(in)
			if in.err != nil {
				return in.err
			}
			if err != nil {
				return err
			}
			c.out[0].Resource = &described{d, d.Cardinality(), s.node, slices.Clone(c.in), c.functions(s.node)}
			return nil
		}, nil
	}
}

// described is a dataset with the node that made it.
type described struct {
	dataset.Dataset
	n         int64 // number of elements: computed once, not through all input datasets again and again
	node      *graph.Node
	in        []Value
	functions map[string]*Function // functions that the node may call
}

// Cardinality implements dataset.Dataset.
func (d *described) Cardinality() int64 { return d.n }

// functions returns the functions that a node may call.
func (c call) functions(n *graph.Node) map[string]*Function {
	if c.env == nil || !calls(n) {
		return nil
	}
	return c.env.Functions
}

// sameDataset is the kernel of ops that return their input.
func sameDataset(c call) error {
	d, err := c.datasetAt(0)
	if err != nil {
		return err
	}
	c.out[0].Resource = d
	return nil
}

func rangeDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	types := list[tensor.DType](s, "output_types")
	if len(types) != 1 {
		s.fail("attribute output_types: expected one type, got %d", len(types))
		types = []tensor.DType{tensor.Int64}
	}
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.Range(in.int("start"), in.int("stop"), in.int("step"), types[0])
	}
}

func shardDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	whole := s.boolean("require_non_empty", false)
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.Shard(in.source(), in.int("num_shards"), in.int("index"), whole)
	}
}

// autoShard shards by elements, never by files.
func autoShard(s *site) func(in *inputs) (dataset.Dataset, error) {
	const off = -1
	policy := s.node.Int("auto_shard_policy", 0)
	return func(in *inputs) (dataset.Dataset, error) {
		if n := in.int("num_workers"); n > 1 && policy != off {
			return dataset.Shard(in.source(), n, in.int("index"), false)
		}
		return in.source(), nil
	}
}

func directedInterleave(s *site) func(in *inputs) (dataset.Dataset, error) {
	stop := s.boolean("stop_on_empty_dataset", false)
	return func(in *inputs) (dataset.Dataset, error) {
		all := in.datasets("data_input_datasets")
		if len(all) == 0 {
			return nil, fmt.Errorf("data_input_datasets: expected a dataset")
		}
		return dataset.Choose(in.dataset("selector_input_dataset"), all, stop), nil
	}
}

func paddedBatch(in *inputs) (dataset.Dataset, error) {
	var shapes [][]int
	for i, v := range in.values("padded_shapes") {
		if v.T == nil {
			return nil, fmt.Errorf("padded_shapes %d: expected a tensor", i)
		}
		shape, err := vector("padded_shapes", v.T)
		if err != nil {
			return nil, err
		}
		if len(shape) > maxRank {
			return nil, fmt.Errorf("padded_shapes %d: expected at most %d dimensions", i, maxRank)
		}
		shapes = append(shapes, shape)
	}
	return dataset.PaddedBatch(in.source(), in.int("batch_size"), in.truth("drop_remainder"), shapes, in.element("padding_values"))
}

// sparseSlices is the dataset of the rows of a sparse tensor: the indices, values and shape of each.
func sparseSlices(in *inputs) (dataset.Dataset, error) {
	indices, values, shape := in.tensor("indices"), in.tensor("values"), in.ints("dense_shape")
	switch {
	case in.err != nil:
		return nil, in.err
	case indices.DType != tensor.Int64 || len(indices.Shape) != 2 || len(values.Shape) != 1 || indices.Shape[0] != values.Shape[0]:
		return nil, fmt.Errorf("expected as many indices as values, got shapes %v and %v", indices.Shape, values.Shape)
	case len(shape) == 0 || indices.Shape[1] != len(shape):
		return nil, fmt.Errorf("expected indices of %d numbers, as the dense shape has, got %v", len(shape), indices.Shape)
	}
	rank, at := len(shape), tensor.Values[int64](indices)
	for i := range values.Shape[0] {
		if row := at[i*rank]; row < 0 || row >= int64(shape[0]) || i > 0 && row < at[(i-1)*rank] {
			return nil, fmt.Errorf("The input indices are not in order, or not in the shape: row %d", i)
		}
	}
	return dataset.Rows(int64(max(shape[0], 0)), sparseRow(indices, values, shape)), nil
}

// sparseRow returns a function that returns row i of a sparse tensor whose indices are sorted.
func sparseRow(indices, values *tensor.Tensor, shape []int) func(i int64) (dataset.Element, error) {
	rank, at := len(shape), tensor.Values[int64](indices)
	return func(i int64) (dataset.Element, error) {
		from := firstOf(at, rank, i)
		n := firstOf(at, rank, i+1) - from
		own := tensor.New(tensor.Int64, n, rank-1)
		dst := tensor.Values[int64](own)
		for k := range n {
			copy(dst[k*(rank-1):], at[(from+k)*rank+1:(from+k+1)*rank])
		}
		dense := tensor.New(tensor.Int64, rank-1)
		for k, d := range shape[1:] {
			tensor.Values[int64](dense)[k] = int64(d)
		}
		return dataset.Element{{T: own}, {T: rows(values, []int{n}, from, n)}, {T: dense}}, nil
	}
}

// firstOf returns the first entry of row i or later.
func firstOf(at []int64, rank int, i int64) int {
	low, high := 0, len(at)/rank
	for low < high {
		if mid := (low + high) / 2; at[mid*rank] < i {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
