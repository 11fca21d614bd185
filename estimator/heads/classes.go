package heads

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// ForClasses returns the head that tf.estimator's canned classifiers use for n
// classes: BinaryClass for 2, else MultiClass.
func ForClasses(n int, opts ...Option) Head {
	if n == 2 {
		return BinaryClass(opts...)
	}
	return MultiClass(n, opts...)
}

// allClassIDs returns 0 to n-1 for each example, int32 [batch, n].
func allClassIDs(mc *estimator.ModelContext, logits *G.Node, n int) *G.Node {
	row := tensor.New(models.GraphType(logits.Dtype()), 1, n)
	out := cellsOf(row)
	for i := range n {
		out.set(i, float64(i))
	}
	return ops.Cast(mc, ops.Add(mc, ops.ZerosLike(mc, logits), ops.Constant(mc, row)), tensor.Int32)
}

// classifying adds words and signatures to a classifier's part. ids are the predicted
// classes, nil if an example may have several.
func (b base) classifying(p *Part, ids, all *G.Node) {
	words := estimator.Text{IDs: all, Vocabulary: b.classWords()}
	if ids == nil {
		p.Texts = estimator.Texts{"classes": words}
	} else {
		p.Predictions["class_ids"], p.Predictions["all_class_ids"] = ids, all
		p.Texts = estimator.Texts{"classes": {IDs: ids, Vocabulary: b.classWords()}, "all_classes": words}
	}
	classify := estimator.ExportOutput{Kind: estimator.ExportClassify, Outputs: estimator.Nodes{"scores": p.Predictions["probabilities"]},
		Texts: estimator.Texts{"classes": words}}
	p.ExportOutputs = map[string]estimator.ExportOutput{
		"serving_default": classify,
		"classification":  classify,
		"predict":         {Kind: estimator.ExportPredict, Outputs: p.Predictions, Texts: p.Texts},
	}
}

// regressing returns the signature of predicted values.
func regressing(value *G.Node) estimator.ExportOutput {
	return estimator.ExportOutput{Kind: estimator.ExportRegress, Outputs: estimator.Nodes{"outputs": value}}
}
