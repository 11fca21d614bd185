package graph

// SumByIndex is an op of this project's own, for training alone: exported graphs
// have TensorFlow's ops in its place. It takes rows [n, ...] and indices [n] of a
// table of as many rows as the attribute "rows" says, and gives as many of both:
// the sum of the rows of each index where it comes first, and in all other places
// zeros and the index -1. Negative indices are of no row.
const SumByIndex = "_SumByIndex"
