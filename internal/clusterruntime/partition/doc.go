// Package partition divides the graph of a session over the tasks of a cluster, for one set of feeds, fetches and targets.
//
// Divide keeps the nodes that the step needs, places each node on a device by its device string and colocation constraints, and
// cuts the edges between tasks: the sender gets a _Send node and the receiver a _Recv node with the same key. The rules are
// TensorFlow's (tensorflow/core/graph/subgraph.cc, common_runtime/placer.cc, graph/graph_partition.cc), so that its servers can
// run the parts.
package partition
