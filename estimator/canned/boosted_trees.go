package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
)

// BoostedTreesOptions are the common options of the boosted trees estimators. Zero
// means tf.estimator's default, which the comments give.
//
// As in tf.estimator, the penalties and MinNodeWeight apply to the mean over the
// examples of a layer: XGBoost's lambda is L2 times the number of examples.
type BoostedTreesOptions struct {
	// Columns are numeric, bucketized or categorical. A categorical column and its
	// indicator are treated the same: splits separate one id from the rest.
	Columns         []feature.Column
	BatchesPerLayer int     // n_batches_per_layer: batches that a layer is grown from; 1
	Trees           int     // n_trees; 100
	MaxDepth        int     // 6
	LearningRate    float64 // 0.1
	L1              float64 // l1_regularization
	L2              float64 // l2_regularization
	TreeComplexity  float64 // least gain of a split, with a PruningMode
	MinNodeWeight   float64 // hessian of a node
	ColumnShare     float64 // share of the columns, drawn for each tree, that it may split by; all. Not in tf.estimator
	// ClassTrees gives each class its own trees, grown in turn; Trees is the number for each class. It needs more than two classes. Not in tf.estimator.
	ClassTrees  bool
	CenterBias  bool   // begin with the best constant
	PruningMode string // "none", "pre" or "post"; "none"
	// QuantileSketchEpsilon is the rank error of a numeric column's bucket boundaries,
	// which come from the first BatchesPerLayer batches. The column has
	// 1/QuantileSketchEpsilon buckets, at most 256; 0.01.
	QuantileSketchEpsilon float64
	// TrainInMemory says that each batch is the whole data, in any order. A step then
	// grows many trees, from bins that stay in memory. It is an error if a later batch
	// has other rows, or if the strategy has several replicas.
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
