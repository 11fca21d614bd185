package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models/layers"
)

func rnnOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := RNNEstimator{Head: r.head(k), SequenceColumns: r.columns("sequence_feature_columns"), ContextColumns: r.columns("context_feature_columns"),
			WeightColumn: r.text("weight_column"), ReturnSequences: r.Bool("return_sequences", false), Optimizer: r.optimizer("optimizer", rnnRate)}
		r.cells(&o)
		if _, byName := r.Any("optimizer").(string); byName && o.Optimizer != nil {
			o.Optimizer = clipped(o.Optimizer)
		}
		mask := r.text("sequence_mask")
		if o.ReturnSequences && o.Head != nil {
			h, err := sequential(o.Head, mask)
			if err != nil {
				r.Refuse("return_sequences", err)
			}
			o.Head = h
		}
		return finish(r, o.ModelFn)
	}
}

// sequential returns a head for every step. The mask is named as in RNNClassifier unless mask is set.
func sequential(h heads.Head, mask string) (heads.Head, error) {
	if mask == "" {
		mask = "sequence_mask"
	}
	return checkedHead(heads.Sequential(h, mask))
}

// cells reads units and cell_type: a type for all layers, or a list of one for each.
func (r *paramReader) cells(o *RNNEstimator) {
	units := r.wholes("units")
	switch r.Any("cell_type").(type) {
	case []string, []any:
	default:
		o.Units, o.CellType = units, layers.CellType(r.text("cell_type"))
		return
	}
	types := r.Words("cell_type")
	if len(types) != len(units) || len(types) == 0 {
		r.Refuse("cell_type", fmt.Errorf("%d types for %d units: expected one type, or as many as units", len(types), len(units)))
		return
	}
	for i, t := range types {
		o.Cells = append(o.Cells, layers.CellType(t).Of(units[i]))
	}
}
