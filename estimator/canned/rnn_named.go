package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
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
		mask := r.text("sequence_mask")
		if o.ReturnSequences && o.Head != nil {
			h, err := sequential(o.Head, mask)
			if err != nil {
				r.fail("return_sequences", err)
			}
			o.Head = h
		}
		return finish(r, o.ModelFn)
	}
}

// sequential is a head for every step, with RNNClassifier's name of the mask unless mask is another.
func sequential(h heads.Head, mask string) (heads.Head, error) {
	if mask == "" {
		mask = "sequence_mask"
	}
	return heads.NewSequential(h, mask)
}
