package eager

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// parseDataset parses the serialized examples of each element. Components are in the order of the features' names. Sparse ones are
// serialized to three strings each, which are variants in TensorFlow. Ragged ones are variants here, too.
func parseDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	p := &parser{columns: columnTypes(s, exampleAttrs)}
	keys := slices.Concat(list[[]byte](s, "sparse_keys"), list[[]byte](s, "dense_keys"), list[[]byte](s, "ragged_keys"))
	at := map[string]int{}
	for i, key := range keys {
		at[string(key)] = i
	}
	order := slices.Sorted(maps.Keys(at))
	return func(in *inputs) (dataset.Dataset, error) {
		values := in.values("dense_defaults")
		spec, err := p.bind(values, func() ([][]byte, error) { return keys, nil }, defaults(values))
		if err != nil {
			return nil, err
		}
		env := in.c.env
		each := func(ctx context.Context, e dataset.Element) (dataset.Element, error) {
			if len(e) != 1 || e[0].T == nil || e[0].T.DType != tensor.String || len(e[0].T.Shape) != 1 {
				return nil, fmt.Errorf("expected vectors of serialized examples as the input's elements")
			}
			c := call{ctx: ctx, env: env, in: []Value{{T: e[0].T}}, out: make([]Value, outputsOf(spec.columns))}
			if err := parse(c, &parsing{spec: spec, examples: e[0].T.Strings}, false); err != nil {
				return nil, err
			}
			out := make(dataset.Element, len(order))
			for i, name := range order {
				v, err := c.component(spec, at[name])
				if err != nil {
					return nil, err
				}
				out[i] = dataset.Value(v)
			}
			return out, nil
		}
		return dataset.ParallelMap(in.source(), each, in.int("num_parallel_calls"), true), nil
	}
}

// component returns the result for a column: its tensor, a ragged tensor, or the three strings of a sparse one.
func (c call) component(spec *exampleSpec, k int) (Value, error) {
	sparse, ragged := countKind(spec.columns, sparseColumn), countKind(spec.columns, raggedColumn)
	switch spec.columns[k].kind {
	case denseColumn:
		return c.out[k+2*sparse], nil
	case raggedColumn:
		return Value{Resource: &raggedVariant{splits: []*tensor.Tensor{c.out[k+2*sparse+ragged].T}, values: c.out[k+2*sparse].T}}, nil
	}
	all, err := triple{c.out[k].T, c.out[k+sparse].T, c.out[k+2*sparse].T}.strings()
	if err != nil {
		return Value{}, err
	}
	t := tensor.New(tensor.String, len(all))
	copy(t.Strings, all)
	return Value{T: t}, nil
}

func uniqueDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	if types := outputTypes(s); len(types) != 1 || types[0] != tensor.Int32 && types[0] != tensor.Int64 && types[0] != tensor.String {
		s.fail("UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component.")
	}
	return always(func(in *inputs) (dataset.Dataset, error) { return dataset.Unique(in.source()), nil })(s)
}
