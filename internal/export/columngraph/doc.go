// Package columngraph adds feature columns to a graph as TensorFlow operations, since an exported model
// has no host side. Emit adds them to raw features from Parse or Placeholders.
package columngraph
