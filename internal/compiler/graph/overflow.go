package graph

// MayOverflow is an attribute of a node: what is computed of its results may be
// infinite or NaN, and something looks after that. Checks of numbers pass it by.
const MayOverflow = "_may_overflow"
