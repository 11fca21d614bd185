// Package lower turns Gorgonia expression graphs into the intermediate
// representation, once, after differentiation. Ops that implement Op say their
// own form; Gorgonia's built-in ops are translated by a table, and those that
// compute wrong results in the required version are refused by name.
package lower
