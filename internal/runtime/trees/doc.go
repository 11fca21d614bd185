// Package trees grows gradient boosted decision trees from histograms, layer by layer, as tf.estimator's BoostedTrees
// do: T. Chen, C. Guestrin, XGBoost (2016) for gains, leaf values and quantile sketches; N. Ponomareva et al., TF Boosted
// Trees (2017) for layers. Unlike other libraries every layer, not every tree, is a Newton step of its own: the gradients
// are computed anew with what the growing tree already adds. (A node's histogram is therefore not its parent's less its
// sibling's.)
//
// A node's sums of gradients G and hessians H make a gain of shrink(G, l1)^2 / (H + l2) and a leaf of
// -learning_rate * shrink(G, l1) / (H + l2), added to its parent's. The best split is the one whose sides gain most.
// Penalties are for the mean over the examples of a layer. Several outputs share their trees, and their hessian is diagonal, unless each has its
// own trees (Config.ClassTrees): trees of one output that take the other ones as they are.
//
// Numbers become bins of one byte by boundaries (see Sketch), gradients whole numbers: sums, and so trees, have the same
// bits for every number of threads, and for examples in memory (Trainer) and given in batches (Layer).
//
// # Prediction as gathers
//
// An Ensemble is flat arrays, so that other runtimes can predict with dense operators alone. With node [batch, trees],
// which starts as t * (2^(depth+1)-1) in column t, do depth times
//
//	x    = gather(example, gather(Feature, node)), each from its row
//	node = gather(Left, node) + (x >= gather(Threshold, node))
//
// and add up gather(Values, node) over the trees (with ClassTrees of each tree its output's, and for the other outputs those of node 0). A leaf is its own left child, and no number below math.MaxFloat32
// reaches its threshold.
package trees
