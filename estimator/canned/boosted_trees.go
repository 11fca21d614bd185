package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
)

// BoostedTreesOptions are the common options of the boosted trees estimators. Zero
// means tf.estimator's default, which the comments name.
//
// As in tf.estimator, the penalties and MinNodeWeight apply to the mean over the
// examples of a layer: XGBoost's lambda is L2 times their number.
type BoostedTreesOptions struct {
	// Columns are numeric, bucketized and categorical ones; a categorical column
	// and its indicator are the same here, and are split one id against the rest.
	Columns         []feature.Column
	BatchesPerLayer int     // n_batches_per_layer: batches that a layer is grown from; 1
	Trees           int     // n_trees; 100
	MaxDepth        int     // 6
	LearningRate    float64 // 0.1
	L1              float64 // l1_regularization
	L2              float64 // l2_regularization
	TreeComplexity  float64 // least gain of a split, with a PruningMode
	MinNodeWeight   float64 // hessian of a node
	ColumnShare     float64 // share of the columns that each tree may split by, drawn for it; all. tf.estimator has none
	// ClassTrees says that each class has its own trees, in turn; Trees is how many each has. It needs more than two classes. tf.estimator has none.
	ClassTrees  bool
	CenterBias  bool   // begin with the best constant
	PruningMode string // "none", "pre" or "post"; "none"
	// QuantileSketchEpsilon is the error of the ranks of a numeric column's bucket
	// boundaries, and one over it the number of its buckets, at most 256; 0.01.
	// The boundaries are of the first BatchesPerLayer batches.
	QuantileSketchEpsilon float64
	// TrainInMemory says that each batch is the whole data, in any order; other rows in
	// a later batch are an error. A step then grows many
	// trees, from bins that stay in memory; only strategies of one replica have it.
	TrainInMemory bool
	// Explanations adds the predictions of tf.estimator's
	// experimental_predict_with_explanations, for heads of one logit: bias, and dfc, the
	// directional feature contributions. BoostedTrees.Explain reads them.
	Explanations bool
}

// BoostedTreesClassifier is tf.estimator.BoostedTreesClassifier: gradient boosted
// decision trees for two or more classes.
type BoostedTreesClassifier struct {
	BoostedTreesOptions
	Classes         int      // n_classes; 0: 2
	WeightColumn    string   // the feature that weighs the examples; "": none
	LabelVocabulary []string // labels are words; nil: they are ids
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BoostedTreesClassifier) ModelFn() (*BoostedTrees, error) {
	h, err := classifier(o.Classes, o.WeightColumn, o.LabelVocabulary, "")
	if err != nil {
		return nil, err
	}
	return newBoostedTrees(o.BoostedTreesOptions, h, o.WeightColumn)
}

// New returns the Estimator of the model.
func (o BoostedTreesClassifier) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// BoostedTreesRegressor is tf.estimator.BoostedTreesRegressor: gradient boosted
// decision trees under squared error.
type BoostedTreesRegressor struct {
	BoostedTreesOptions
	LabelDimension int    // numbers of a label; 0: 1
	WeightColumn   string // the feature that weighs the examples; "": none
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BoostedTreesRegressor) ModelFn() (*BoostedTrees, error) {
	h, err := regressor(o.LabelDimension, o.WeightColumn, "")
	if err != nil {
		return nil, err
	}
	return newBoostedTrees(o.BoostedTreesOptions, h, o.WeightColumn)
}

// New returns the Estimator of the model.
func (o BoostedTreesRegressor) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// BoostedTreesEstimator is tf.estimator.BoostedTreesEstimator: gradient boosted
// decision trees under any head but a Multi.
type BoostedTreesEstimator struct {
	BoostedTreesOptions
	Head         heads.Head
	WeightColumn string // the feature that the head's weight column names; "": none
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o BoostedTreesEstimator) ModelFn() (*BoostedTrees, error) {
	return newBoostedTrees(o.BoostedTreesOptions, o.Head, o.WeightColumn)
}

// New returns the Estimator of the model.
func (o BoostedTreesEstimator) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}
