package graph

// SumByIndex is an op of this project's own, for training only: exported graphs
// have TensorFlow's ops in its place. It takes rows [n, ...] and indices [n] into a
// table with as many rows as the attribute "rows" says. Its results have the same
// shapes: the sum of each index's rows at the index's first place, and zeros and
// the index -1 everywhere else. Negative indices name no row.
const SumByIndex = "_SumByIndex"
