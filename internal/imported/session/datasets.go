package session

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
)

// requestOps are the ops that a request may use with its own datasets: it makes them, and ends its passes over them. Not included are
// ops that read files, make graphs of datasets, or use names that other requests know.
var requestOps = setOf(
	ops.TensorDataset, ops.TensorSliceDataset, ops.SparseTensorSliceDataset, ops.RangeDataset, ops.RandomDataset, ops.RandomDatasetV2,
	ops.TakeDataset, ops.SkipDataset, ops.RepeatDataset, ops.ShardDataset, ops.ZipDataset, ops.ConcatenateDataset, ops.DirectedInterleaveDataset,
	ops.PrefetchDataset, ops.UnbatchDataset, ops.IgnoreErrorsDataset, ops.WindowDataset, ops.RebatchDatasetV2, ops.AssertCardinalityDataset,
	ops.CacheDataset, ops.CacheDatasetV2, ops.ParseExampleDataset, ops.ParseExampleDatasetV2, ops.UniqueDataset,
	ops.BatchDataset, ops.BatchDatasetV2, ops.ParallelBatchDataset, ops.PaddedBatchDataset, ops.PaddedBatchDatasetV2,
	ops.ShuffleDataset, ops.ShuffleDatasetV2, ops.ShuffleDatasetV3, ops.ShuffleAndRepeatDataset, ops.ShuffleAndRepeatDatasetV2,
	ops.OptionsDataset, ops.ModelDataset, ops.OptimizeDataset, ops.OptimizeDatasetV2, ops.FinalizeDataset, ops.MaxIntraOpParallelismDataset,
	ops.PrivateThreadPoolDataset, ops.AssertNextDataset, ops.NonSerializableDataset, ops.RewriteDataset, ops.WrapDatasetVariant, ops.UnwrapDatasetVariant,
	ops.MapDataset, ops.ParallelMapDataset, ops.ParallelMapDatasetV2, ops.FilterDataset, ops.FlatMapDataset, ops.InterleaveDataset,
	ops.ParallelInterleaveDataset, ops.ParallelInterleaveDatasetV2, ops.ParallelInterleaveDatasetV3, ops.ParallelInterleaveDatasetV4,
	ops.ScanDataset, ops.TakeWhileDataset, ops.GroupByWindowDataset, ops.MapAndBatchDataset, ops.ExperimentalMapAndBatchDataset,
	ops.ReduceDataset, ops.DatasetToSingleElement, ops.DatasetCardinality, ops.GetOptions,
	ops.OptionalNone, ops.OptionalFromValue, ops.OptionalHasValue, ops.OptionalGetValue,
	ops.AnonymousMemoryCache, ops.DummyMemoryCache, ops.AnonymousSeedGenerator, ops.AnonymousRandomSeedGenerator, ops.DummySeedGenerator,
)

// iteratorOps are further such ops. Their order matters: they begin or continue a pass.
var iteratorOps = setOf(
	ops.AnonymousIterator, ops.AnonymousIteratorV2, ops.AnonymousIteratorV3, ops.MakeIterator, ops.DeleteIterator,
	ops.IteratorGetNext, ops.IteratorGetNextSync, ops.IteratorGetNextAsOptional,
	ops.DeleteMemoryCache, ops.DeleteSeedGenerator, ops.DeleteRandomSeedGenerator,
)

func setOf(all ...*ops.Def) map[*ops.Def]bool {
	set := map[*ops.Def]bool{}
	for _, d := range all {
		set[d] = true
	}
	return set
}

// passes reports whether a model makes passes over datasets.
func passes(g *graph.Graph, inner []function) bool {
	has := func(g *graph.Graph) bool {
		for _, n := range g.Nodes() {
			if d := ops.Find(n.Op); requestOps[d] || iteratorOps[d] {
				return true
			}
		}
		return false
	}
	found := has(g)
	for _, f := range inner {
		found = found || has(f.graph)
	}
	return found
}

// room returns the room for elements that passes of a run keep, and a function that ends it. Its account is not the run's, which
// returns memory when nodes end; it has the same limit.
func (r *run) room() (*dataset.Room, func()) {
	if r.payer.Account == nil {
		return dataset.NewRoom(r.p.s.options.Limit), func() {}
	}
	a := budget.Combine([]*budget.Account{r.payer.Account})
	return dataset.PaidRoom(a), a.Close
}

// calledBy reports whether a node is a branch or loop, whose inputs are its functions' arguments.
func calledBy(n *graph.Node) bool {
	d := ops.Find(n.Op)
	return len(eager.Called(n)) > 0 && !requestOps[d]
}
