package canned

import "github.com/goestimator/goestimator/estimator"

// treesOf makes boosted trees from parameters with the names of tf.estimator's arguments.
func treesOf(k kindOfHead) maker {
	return func(r *paramReader) (estimator.ModelFn, error) {
		h, weights := r.head(k), r.text("weight_column")
		o := BoostedTreesOptions{Columns: r.columns("feature_columns"), BatchesPerLayer: r.count("n_batches_per_layer"),
			Trees: r.count("n_trees"), MaxDepth: r.count("max_depth"), LearningRate: r.Float("learning_rate", 0),
			L1: r.Float("l1_regularization", 0), L2: r.Float("l2_regularization", 0), TreeComplexity: r.Float("tree_complexity", 0),
			MinNodeWeight: r.Float("min_node_weight", 0), ColumnShare: r.Float("column_share", 0), ClassTrees: r.Bool("class_trees", false), CenterBias: r.Bool("center_bias", false), PruningMode: r.text("pruning_mode"),
			QuantileSketchEpsilon: r.Float("quantile_sketch_epsilon", 0), TrainInMemory: r.Bool("train_in_memory", false),
			Explanations: r.Bool("explanations", false)}
		return finish(r, func() (*BoostedTrees, error) { return newBoostedTrees(o, h, weights) })
	}
}
