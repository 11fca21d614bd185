// Package columngraph adds feature columns to a graph as TensorFlow operations, for an exported model
// has no host side: Emit over the raw features that Parse or Placeholders make.
package columngraph
