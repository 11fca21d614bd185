package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
)

// datasetStateOps are for what datasets keep between passes: seeds, and elements. The dummies say that a dataset keeps its own.
var datasetStateOps = map[*ops.Def]maker{
	ops.AnonymousMemoryCache:         plain(memoryCache),
	ops.DummyMemoryCache:             plain(memoryCache),
	ops.DeleteMemoryCache:            plain(deleteState),
	ops.AnonymousSeedGenerator:       seedGenerator,
	ops.AnonymousRandomSeedGenerator: seedGenerator,
	ops.DummySeedGenerator: plain(func(c call) error {
		c.out[0].Resource = noSeeds{}
		return nil
	}),
	ops.DeleteSeedGenerator:       plain(deleteState),
	ops.DeleteRandomSeedGenerator: plain(deleteState),
}

// noSeeds is an unused seed generator: the dataset makes its own seeds.
type noSeeds struct{}

// deleter deletes a resource in TensorFlow. Our resources are garbage-collected.
type deleter struct{}

func memoryCache(c call) error {
	c.out[0].Resource = &dataset.Memory{}
	if len(c.out) > 1 {
		c.out[1].Resource = deleter{}
	}
	return nil
}

func deleteState(c call) error {
	if m, ok := c.in[0].Resource.(*dataset.Memory); ok {
		m.Close()
	}
	return nil
}

func seedGenerator(s *site) (kernel, error) {
	l := s.layout()
	return func(c call) error {
		in := &inputs{c: c, l: l}
		c.out[0].Resource = dataset.NewSeeds(in.int("seed"), in.int("seed2"), !in.has("reshuffle") || in.truth("reshuffle"))
		c.out[1].Resource = deleter{}
		return in.err
	}, nil
}

// seeds returns the seeds of a dataset: its generator's, if it has one.
func (in *inputs) seeds(name string, fresh bool) *dataset.Seeds {
	if in.has(name) {
		if v := in.values(name); len(v) == 1 {
			if s, ok := v[0].Resource.(*dataset.Seeds); ok {
				return s
			}
		}
		if !in.has("seed") {
			in.fail("%s: expected a generator of seeds", name)
			return nil
		}
	}
	return dataset.NewSeeds(in.int("seed"), in.int("seed2"), fresh)
}

func shuffleDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	fresh := s.boolean("reshuffle_each_iteration", true)
	return func(in *inputs) (dataset.Dataset, error) {
		passes := int64(1)
		if in.has("count") {
			passes = in.int("count")
			if passes <= 0 && passes != -1 {
				return nil, fmt.Errorf("count must be greater than zero or equal to -1.")
			}
		}
		return dataset.Shuffle(in.source(), in.int("buffer_size"), in.seeds("seed_generator", fresh), passes)
	}
}

func randomDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	fresh := s.boolean("rerandomize_each_iteration", false)
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.Random(in.seeds("seed_generator", fresh)), nil
	}
}

func cacheDataset(in *inputs) (dataset.Dataset, error) {
	if name := in.text("filename"); name != "" {
		return nil, fmt.Errorf("a cache in the file %q %w: leave the file name out to keep elements in memory", name, ErrUnsupported)
	}
	memory := &dataset.Memory{}
	if in.has("cache") {
		if v := in.values("cache"); len(v) == 1 {
			if m, ok := v[0].Resource.(*dataset.Memory); ok {
				memory = m
			}
		}
	}
	return dataset.Cache(in.source(), memory), nil
}
