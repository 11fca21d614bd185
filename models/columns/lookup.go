package columns

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// combined returns the rows of a table that each example's ids select, combined into
// one: [batch, width of the table].
func combined(c models.Context, f models.Features, in feature.Input, rows *G.Node) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	ids := f.Ragged(in.Values)
	if in.Weights != "" {
		ids = ids.WithWeights(c, f.Ragged(in.Weights))
	}
	if c.Core().Failed() {
		return nil
	}
	return ops.LookupSparse(c, rows, ids, string(in.Combiner), in.MaxNorm)
}
