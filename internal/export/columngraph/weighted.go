package columngraph

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func (e *emitter) weighted(c *feature.Weighted) listNodes {
	return emitOnce(e, listOf{column: c}, func() listNodes {
		l := e.ids(c.Of, false)
		e := e.at(c.Name())
		l.e = e
		if e.raw[c.WeightKey].Sparse == nil { // the position of a value finds its weight
			l.weights = e.gatherAt("weights", e.at(c.WeightKey).cast("float32", e.matrix(c.WeightKey), tensor.Float32), l.indices)
			return l
		}
		w := e.all(c.WeightKey)
		same := e.compare("Equal", "same_offsets", l.offsets(), w.offsets())
		same = e.op("All", "all_same", graph.Type{DType: tensor.Bool}, graph.Attrs{"Tidx": tensor.Int32, "keep_dims": false}, same, e.ints("dims", tensor.Int32, []int64{0}, 1))
		l.weights = e.cast("float32", e.asserted(w.values, same, fmt.Sprintf("column %q: expected a weight for each id, as many in every row", c.Name()), w.offsets()), tensor.Float32)
		return l
	})
}
