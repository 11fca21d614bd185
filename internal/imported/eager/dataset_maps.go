package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
)

// datasetMapOps are datasets with functions.
var datasetMapOps = datasetMapTable()

func datasetMapTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{
		ops.MapDataset:  makeDataset(mapDataset(false)),
		ops.ScanDataset: makeDataset(scanDataset),
		ops.FilterDataset: makeDataset(predicated(func(in dataset.Dataset, f dataset.Func) dataset.Dataset {
			return dataset.Filter(in, f)
		})),
		ops.TakeWhileDataset: makeDataset(predicated(func(in dataset.Dataset, f dataset.Func) dataset.Dataset {
			return dataset.TakeWhile(in, f)
		})),
		ops.FlatMapDataset:       makeDataset(interleaved(func(*inputs) (cycle, block int64) { return 1, 1 })),
		ops.InterleaveDataset:    makeDataset(interleaved(turns)),
		ops.GroupByWindowDataset: makeDataset(groupByWindow),
		ops.GeneratorDataset:     makeDataset(generatorDataset),
	}
	for _, op := range []*ops.Def{ops.ParallelMapDataset, ops.ParallelMapDatasetV2} {
		all[op] = makeDataset(mapDataset(true))
	}
	for _, op := range []*ops.Def{ops.MapAndBatchDataset, ops.ExperimentalMapAndBatchDataset} {
		all[op] = makeDataset(mapAndBatch)
	}
	for _, op := range []*ops.Def{ops.ParallelInterleaveDataset, ops.ParallelInterleaveDatasetV2, ops.ParallelInterleaveDatasetV3, ops.ParallelInterleaveDatasetV4, ops.LegacyParallelInterleaveDatasetV2} {
		all[op] = makeDataset(parallelInterleave)
	}
	return all
}

// others is the input with values that functions take besides elements.
const others = "other_arguments"

func mapDataset(parallel bool) datasetMaker {
	return func(s *site) func(in *inputs) (dataset.Dataset, error) {
		f, whole := s.function("f"), s.boolean("preserve_cardinality", false)
		return func(in *inputs) (dataset.Dataset, error) {
			if parallel {
				return dataset.ParallelMap(in.source(), in.function(f, others), in.int("num_parallel_calls"), whole), nil
			}
			return dataset.Map(in.source(), in.function(f, others), whole), nil
		}
	}
}

func mapAndBatch(s *site) func(in *inputs) (dataset.Dataset, error) {
	f, whole := s.function("f"), s.boolean("preserve_cardinality", false)
	return func(in *inputs) (dataset.Dataset, error) {
		mapped := dataset.ParallelMap(in.source(), in.function(f, others), in.int("num_parallel_calls"), whole)
		return dataset.Batch(mapped, in.int("batch_size"), in.truth("drop_remainder"))
	}
}

func scanDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	f, whole := s.function("f"), s.boolean("preserve_cardinality", false)
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.Scan(in.source(), in.element("initial_state"), in.function(f, others), whole), nil
	}
}

func predicated(m func(in dataset.Dataset, f dataset.Func) dataset.Dataset) datasetMaker {
	return func(s *site) func(in *inputs) (dataset.Dataset, error) {
		f := s.function("predicate")
		return func(in *inputs) (dataset.Dataset, error) { return m(in.source(), in.function(f, others)), nil }
	}
}

// turns returns how many datasets take turns, and how many elements each turn has.
func turns(in *inputs) (cycle, block int64) {
	cycle, block = in.int("cycle_length"), in.int("block_length")
	if cycle == 0 || cycle < -1 {
		in.fail("`cycle_length` must be > 0")
	}
	if block <= 0 {
		in.fail("`block_length` must be > 0")
	}
	return cycle, block
}

func interleaved(turns func(in *inputs) (cycle, block int64)) datasetMaker {
	return func(s *site) func(in *inputs) (dataset.Dataset, error) {
		f := s.function("f")
		return func(in *inputs) (dataset.Dataset, error) {
			cycle, block := turns(in)
			return dataset.Interleave(in.source(), in.function(f, others), max(cycle, 1), block), nil
		}
	}
}

func parallelInterleave(s *site) func(in *inputs) (dataset.Dataset, error) {
	f := s.function("f")
	return func(in *inputs) (dataset.Dataset, error) {
		cycle, block := turns(in)
		ahead := int64(-1)
		if in.has("buffer_output_elements") {
			ahead = max(in.int("buffer_output_elements"), -1)
		}
		return dataset.ParallelInterleave(in.source(), in.function(f, others), cycle, block, ahead), nil
	}
}

func groupByWindow(s *site) func(in *inputs) (dataset.Dataset, error) {
	key, reduce, size := s.function("key_func"), s.function("reduce_func"), s.function("window_size_func")
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.GroupByWindow(in.source(), dataset.Groups{
			Key:    in.function(key, "key_func_other_arguments"),
			Size:   in.function(size, "window_size_func_other_arguments"),
			Reduce: in.function(reduce, "reduce_func_other_arguments"),
		}), nil
	}
}
