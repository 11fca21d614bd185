// Package trees grows gradient boosted decision trees from histograms, layer by layer, as tf.estimator's BoostedTrees
// do: T. Chen, C. Guestrin, XGBoost (2016) for gains, leaf values and quantile sketches; N. Ponomareva et al., TF Boosted
// Trees (2017) for layers. Unlike in other libraries, every layer, not every tree, is a Newton step: the gradients are
// computed again with the values of the growing tree. (So a node's histogram is not its parent's minus its sibling's.)
//
// A node with sums of gradients G and hessians H has the gain shrink(G, l1)^2 / (H + l2), and as a leaf the value
// -learning_rate * shrink(G, l1) / (H + l2) plus its parent's value. The best split is the one whose sides gain most.
// Penalties apply to the mean over the examples of a layer. Several outputs share their trees, with a diagonal hessian, unless
// each has its own trees (Config.ClassTrees): trees of one output, for which the other outputs are constant.
//
// Numbers become one-byte bins by boundaries (see Sketch), and gradients become whole numbers. So sums, and thus trees, have
// the same bits for every number of threads, and for examples in memory (Trainer) or in batches (Collector).
//
// # Prediction as gathers
//
// An Ensemble is flat arrays, so that other runtimes can predict with dense operators only. With node [batch, trees],
// which starts as t * (2^(depth+1)-1) in column t, do depth times
//
//	x    = gather(example, gather(Feature, node)), each from its row
//	node = gather(Left, node) + (x >= gather(Threshold, node))
//
// and sum gather(Values, node) over the trees. With ClassTrees, each tree contributes only to its own output; the other outputs
// get the values of node 0. A leaf is its own left child, and no number below math.MaxFloat32 reaches its threshold.
package trees
