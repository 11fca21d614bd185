package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/layers"
)

func rnnOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := RNNEstimator{Head: r.head(k), SequenceColumns: r.columns("sequence_feature_columns"), ContextColumns: r.columns("context_feature_columns"),
			WeightColumn: r.text("weight_column"), Units: r.wholes("units"), CellType: layers.Cell(r.text("cell_type")),
			ReturnSequences: r.truth("return_sequences"), Optimizer: r.optimizer("optimizer", rnnRate)}
		if _, byName := r.params["optimizer"].(string); byName && o.Optimizer != nil {
			o.Optimizer = clipped(o.Optimizer)
		}
		return finish(r, o.ModelFn)
	}
}
