package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/registry"
)

// maker makes a model from its parameters.
type maker func(r *paramReader) (estimator.ModelFn, error)

// makers holds the makers of models by their names in config files.
var makers = registry.New("model", map[string]maker{
	"linear_classifier":              linearOf(classes),
	"linear_regressor":               linearOf(numbers),
	"linear_estimator":               linearOf(anyHead),
	"dnn_classifier":                 dnnOf(classes),
	"dnn_regressor":                  dnnOf(numbers),
	"dnn_estimator":                  dnnOf(anyHead),
	"dcn_classifier":                 dcnOf(classes),
	"dcn_regressor":                  dcnOf(numbers),
	"dcn_estimator":                  dcnOf(anyHead),
	"dnn_linear_combined_classifier": combinedOf(classes),
	"dnn_linear_combined_regressor":  combinedOf(numbers),
	"dnn_linear_combined_estimator":  combinedOf(anyHead),
	"baseline_classifier":            baselineOf(classes),
	"baseline_regressor":             baselineOf(numbers),
	"baseline_estimator":             baselineOf(anyHead),
	"boosted_trees_classifier":       treesOf(classes),
	"boosted_trees_regressor":        treesOf(numbers),
	"boosted_trees_estimator":        treesOf(anyHead),
	"rnn_classifier":                 rnnOf(classes),
	"rnn_estimator":                  rnnOf(anyHead),
	"kmeans":                         kmeansNamed,
	"two_tower":                      twoTowerNamed,
	"language_model":                 languageModelNamed,
})

// Names returns the names that Named knows, sorted.
func Names() []string { return makers.Names() }

// Named makes the model that a config file names. Parameters have the names of
// tf.estimator's arguments; feature_columns, linear_feature_columns and
// dnn_feature_columns are names of columns in set.
//
// An optimizer is either one of tf.estimator's names (Adagrad, Adam, Ftrl, RMSProp,
// SGD), with tf.estimator's learning rate for the model, or a map of a name and
// hyper-parameters, as for optimizers.New. Models under any head (..._estimator) have
// the parameters of heads.FromParams.
//
// All errors are reported together; each names its parameter.
func Named(name string, p estimator.Params, set *feature.Set) (estimator.ModelFn, error) {
	mk, err := makers.Lookup(name)
	if err != nil {
		return nil, err
	}
	return mk(&paramReader{params.Read("", p), set})
}

// finish makes the model if its options were read without an error.
func finish[M estimator.ModelFn](r *paramReader, modelFn func() (M, error)) (estimator.ModelFn, error) {
	if err := r.Done(); err != nil {
		return nil, err
	}
	m, err := modelFn()
	if err != nil {
		return nil, err
	}
	return m, nil
}

func linearOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := LinearEstimator{Head: r.head(k), Columns: r.columns("feature_columns"), WeightColumn: r.text("weight_column"),
			SparseCombiner: r.combiner("sparse_combiner")}
		if s := r.sdca("optimizer", k); s != nil {
			return finish(r, func() (*Model, error) { return sdcaModel(o, *s) })
		}
		o.Optimizer = r.optimizer("optimizer", linearRate)
		return finish(r, o.ModelFn)
	}
}

func dnnOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := DNNEstimator{Head: r.head(k), Columns: r.columns("feature_columns"), WeightColumn: r.text("weight_column"),
			HiddenUnits: r.wholes("hidden_units"), Optimizer: r.optimizer("optimizer", ownRate), Activation: r.activation("activation_fn"),
			Dropout: r.Float("dropout", 0), BatchNorm: r.Bool("batch_norm", false)}
		return finish(r, o.ModelFn)
	}
}

func dcnOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := DCNEstimator{Head: r.head(k), Columns: r.columns("feature_columns"), WeightColumn: r.text("weight_column"), CrossLayers: r.count("cross_layers"),
			HiddenUnits: r.wholes("hidden_units"), Optimizer: r.optimizer("optimizer", ownRate), Activation: r.activation("activation_fn"),
			Dropout: r.Float("dropout", 0), BatchNorm: r.Bool("batch_norm", false)}
		return finish(r, o.ModelFn)
	}
}

func twoTowerNamed(r *paramReader) (estimator.ModelFn, error) {
	o := TwoTower{Columns: r.columns("feature_columns"), Embedding: r.count("embedding"), HiddenUnits: r.wholes("hidden_units"), Width: r.count("width"),
		Temperature: r.Float("temperature", 0), Optimizer: r.optimizer("optimizer", ownRate)}
	switch h := r.head(candidates).(type) {
	case heads.MultiClassHead:
		o.Head = h
	case heads.BinaryClassHead:
		r.Expect("n_classes", "three candidates or more")
	}
	return finish(r, o.ModelFn)
}

func combinedOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := DNNLinearCombinedEstimator{Head: r.head(k), WeightColumn: r.text("weight_column"),
			Linear: r.columns("linear_feature_columns"), DNN: r.columns("dnn_feature_columns"), HiddenUnits: r.wholes("dnn_hidden_units"),
			DNNOptimizer: r.optimizer("dnn_optimizer", combinedDNNRate), Activation: r.activation("dnn_activation_fn"),
			Dropout: r.Float("dnn_dropout", 0), BatchNorm: r.Bool("batch_norm", false), SparseCombiner: r.combiner("linear_sparse_combiner")}
		o.LinearOptimizer = r.optimizer("linear_optimizer", rateOfColumns(max(len(o.Linear), 1)))
		return finish(r, o.ModelFn)
	}
}

func baselineOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		o := BaselineEstimator{Head: r.head(k), WeightColumn: r.text("weight_column"), Optimizer: r.optimizer("optimizer", baselineRate)}
		return finish(r, o.ModelFn)
	}
}
