package graph

// MayOverflow is an attribute of a node: values computed from its results may be
// infinite or NaN, and the graph handles that. Numeric checks skip these values.
const MayOverflow = "_may_overflow"
